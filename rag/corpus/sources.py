"""A stream of bytes as readers take it: whole, as text, line by line. Bounded, so that no file can fill the memory.

Opens what ``opening`` found. Knows no format of papers.
"""

from __future__ import annotations

import codecs
import errno
import gzip
import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any

from rag.corpus.decoding import decode, refuse_binary
from rag.errors import ReadError

HEAD = 1 << 16
"""Bytes that a format is told by."""
WHOLE = 32 * 10**6
"""Bytes up to which a file is read in one piece."""
LINE = 8 * 10**6
"""Characters of the longest line, and ``RECORD`` bytes of the longest record, that are taken for real."""
RECORD = 16 * 10**6
_EXPANDS, _EXPANDS_FROM = 100, 32 * 10**6
"""Text shrinks to a tenth, seldom to a fortieth: what expands a hundredfold is made to fill the memory."""
_REASONS = {
    errno.ENOENT: "does not exist: check the path",
    errno.ENOTDIR: "does not exist: check the path",
    errno.ENAMETOOLONG: "is too long a name: check the path",
    errno.ELOOP: "is a link that leads to itself: remove it",
    errno.EACCES: "may not be read: allow it with chmod u+r",
    errno.EPERM: "may not be read: allow it with chmod u+r",
    errno.EISDIR: "is a folder: add the files in it",
}


class Stream(io.RawIOBase):
    """Bytes of a source. Refuses what expands without measure, and a record without end.

    A reader that streams calls ``record_done`` after each record.
    """

    def __init__(self, raw: IO[bytes], name: str, packed: int = 0) -> None:
        super().__init__()
        self._raw, self._name, self._packed = raw, name, packed
        self._done = self._record = self._records = 0
        self._limit = 0

    def limited(self, limit: int = RECORD) -> io.BufferedReader:
        """A buffer over the stream; raises ReadError when ``limit`` bytes pass without ``record_done``."""
        self._limit = limit
        return io.BufferedReader(self, HEAD)

    def record_done(self) -> None:
        """A record was read: the next may be as long again."""
        self._record = 0
        self._records += 1

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - a writable buffer, which has no name before Python 3.12
        """Read the next bytes. Raises ReadError."""
        with readable(self._name):
            data = self._raw.read(len(buffer))
        buffer[: len(data)] = data
        self._done += len(data)
        self._record += len(data)
        if self._packed and self._done > max(_EXPANDS_FROM, _EXPANDS * self._packed):
            raise ReadError(
                f"{self._name} grows more than {_EXPANDS}-fold when it is unpacked, no text does: unpack it yourself "
                "and look at it"
            )
        if self._limit and self._record > self._limit:
            raise ReadError(
                f"{self._name}: record {self._records + 1} is longer than {self._limit // 10**6} MB, no abstract is: "
                "take it out of the file"
            )
        return len(data)

    def close(self) -> None:
        """Close the file beneath."""
        if not self.closed:
            self._raw.close()
        super().close()


@dataclass(frozen=True)
class Source:
    """A stream of bytes with a name, that can be opened again. ``suffix`` is lower case, ``.gz`` taken off.

    ``key`` tells it from every other one on this machine; ``name`` is what the user sees.
    """

    name: str
    key: str
    suffix: str
    opener: Callable[[], Stream]

    def open(self) -> Stream:
        """The bytes from the start. Raises ReadError."""
        return self.opener()

    @cached_property
    def head(self) -> bytes:
        """The first bytes, raw."""
        return self._upto(HEAD)

    @cached_property
    def start(self) -> str:
        """The first characters, white space before them taken off, whatever can't be decoded replaced: to look at."""
        encoding = "utf-8-sig"
        if self.head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            encoding = "utf-16"
        return self.head.decode(encoding, "replace").lstrip()

    def whole(self) -> bytes:
        """All bytes. Raises ReadError when there are more than ``WHOLE``."""
        data = self._upto(WHOLE + 1)
        if len(data) > WHOLE:
            raise ReadError(
                f"{self.name} has more than {WHOLE // 10**6} MB, too much for its format: split it, or make it "
                "JSON Lines"
            )
        return data

    def text(self) -> str:
        """All of it, decoded. Raises ReadError."""
        return decode(self.whole(), self.name)

    def lines(self) -> Iterator[str]:
        """Lines with their ends, decoded. More than ``WHOLE`` must be UTF-8, or begin with a byte order mark.

        Raises ReadError, also for a line of more than ``LINE`` characters.
        """
        if len(self._upto(WHOLE + 1)) <= WHOLE:
            yield from self._bounded(io.StringIO(self.text(), newline=None))
            return
        refuse_binary(self.head, self.name)
        marked = self.head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        with io.TextIOWrapper(io.BufferedReader(self.open()), "utf-16" if marked else "utf-8-sig") as file:
            yield from self._bounded(file)

    def utf8(self) -> tuple[Stream, io.BufferedReader]:
        """The bytes as UTF-8, without a byte order mark, and a buffer over them that no record may overflow.

        What is larger than ``WHOLE`` is not converted. Raises ReadError.
        """
        stream = self.open()
        if not self._is_utf8():
            stream.close()
            stream = Stream(io.BytesIO(self.text().encode("utf-8", "surrogatepass")), self.name)
        buffered = stream.limited()
        if buffered.peek(3)[:3] == codecs.BOM_UTF8:
            buffered.read(3)
        return stream, buffered

    def _is_utf8(self) -> bool:
        if self.head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\x00" in self.head[:64]:
            return False
        data = self._upto(WHOLE + 1)
        try:
            codecs.getincrementaldecoder("utf-8")().decode(data, final=len(data) <= WHOLE)
        except UnicodeDecodeError:
            return len(data) > WHOLE
        return True

    def _bounded(self, file: io.TextIOBase) -> Iterator[str]:
        number = 0
        try:
            while line := file.readline(LINE + 1):
                number += 1
                if len(line) > LINE:
                    raise ReadError(
                        f"{self.name}: line {number} is longer than {LINE // 10**6} million characters, no abstract "
                        "is: take it out of the file"
                    )
                yield line
        except UnicodeDecodeError as error:
            raise ReadError(
                f"{self.name} is not UTF-8 (after line {number}): convert it (iconv -f ENCODING -t UTF-8) and add it "
                "again"
            ) from error

    def _upto(self, size: int) -> bytes:
        with io.BufferedReader(self.open()) as file:
            return file.read(size)


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Turn what reading can raise into a ReadError that says what to do."""
    try:
        yield
    except ReadError:
        raise
    except (gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ReadError(f"{name} can't be unpacked ({' '.join(str(error).split())}): fetch or pack it again") from error
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, f"can't be read ({error.strerror or error}): check the file")
        raise ReadError(f"{name} {reason}") from error
    except ValueError as error:  # a NUL in the path
        raise ReadError(f"{name!r} is no path: check it") from error
