"""Bytes -> text. Refuses what is no text; never replaces a byte that it does not understand.

A byte order mark decides, then strict UTF-8, then UTF-16 without a mark (told by its NUL bytes). What is left is an
older encoding. The multi-byte ones of East Asia are told by how common the decoded characters are: a detector that
sees one line of Chinese in a file of English takes it for something else (chardet 7.7, charset-normalizer 3.5 and
cchardet 3.2 all did for a GB18030 header over English abstracts). A few accents in English text are Windows-1252; for
texts in other scripts chardet decides, and a check of the result refuses nonsense.
"""

from __future__ import annotations

import codecs
import re
import unicodedata

from rag.errors import ReadError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins with the same bytes
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BINARY = (
    (b"%PDF-", "a PDF", "save its text as .txt and add that"),
    (b"PK\x03\x04", "a zip or office document", "unpack it, or save its text as .txt"),
    (b"\x1f\x8b", "gzip-compressed", "unpack it first (gunzip)"),
    (b"\xd0\xcf\x11\xe0", "an old office document", "save its text as .txt"),
    (b"\x89PNG", "an image", "add a text file"),
    (b"\xff\xd8\xff", "an image", "add a text file"),
    (b"SQLite format 3", "an SQLite database", "add a text file"),
    (b"\x7fELF", "a program", "add a text file"),
)
_TO_UTF8 = "convert it to UTF-8 (iconv -f ENCODING -t UTF-8) and add it again"
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_WHITE_CONTROLS = {
    ord(c): " " for c in map(chr, [*range(9), *range(0x0E, 0x20), 0x7F, *range(0x80, 0xA0)]) if c != "\x85"
}
_MIN_COMMON = 0.9  # share of the non-ASCII characters that must be common ones for a multi-byte encoding to be right
_FEW_ACCENTS = 0.03  # up to this share of non-ASCII letters, a Western text: Windows-1252


def decode(data: bytes, name: str) -> str:
    """The text of a file, without byte order mark; control characters other than white space become blanks.

    ``name`` is what errors call the file. Raises ReadError for a binary file, for broken UTF-8 (with the line) and
    for bytes in no known encoding.
    """
    refuse_binary(data, name)
    text = _decoded(data, name)
    controls = len(_CONTROLS.findall(text))
    if controls > 8 and controls > len(text) / 100:
        raise ReadError(f"{name} is a binary file, not text: add a text file")
    return text.translate(_WHITE_CONTROLS)


def refuse_binary(data: bytes, name: str) -> None:
    """Raise ReadError for what begins like a kind of file that holds no text."""
    for magic, what, way_out in _BINARY:
        if data.startswith(magic):
            raise ReadError(f"{name} is {what}, not text: {way_out}")


def _decoded(data: bytes, name: str) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                return data[len(mark) :].decode(encoding)
            except UnicodeDecodeError as error:
                raise ReadError(
                    f"{name} is marked as {encoding} but breaks at byte {error.start + len(mark)}: {_TO_UTF8}"
                ) from error
    if b"\x00" in data:
        return _utf16(data, name)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        _refuse_broken_utf8(data, name, error)
    text = _east_asian(data) or _western(data) or _detected(data)
    if not text:
        raise ReadError(f"{name} is in no encoding known here: {_TO_UTF8}")
    return text


def _utf16(data: bytes, name: str) -> str:
    best, best_share = "", 0.9
    for encoding in ("utf-16-le", "utf-16-be"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\x00" in text:
            continue
        sample = text[:20000]
        share = sum(unicodedata.category(c)[0] in "LNPZ" or c in "\r\n\t" for c in sample) / len(sample)
        # Read in the wrong order, English is rare CJK: blanks and line ends in their own place decide.
        share += sum(c in " \r\n\t。，" for c in sample) / len(sample)
        if share > best_share:
            best, best_share = text, share
    if not best:
        raise ReadError(f"{name} is a binary file, not text: add a text file")
    return best


def _refuse_broken_utf8(data: bytes, name: str, error: UnicodeDecodeError) -> None:
    """Raise when the data is plainly UTF-8 with a few broken bytes: reading it as anything else would garble it."""
    lenient = data.decode("utf-8", errors="replace")
    broken = lenient.count("�")
    whole = sum(c > "\x7f" for c in lenient) - broken
    if whole >= 2 * broken:
        line = data.count(b"\n", 0, error.start) + 1
        raise ReadError(
            f"{name} is UTF-8 but for byte {error.start} on line {line}: mend it there, or drop the broken bytes "
            "(iconv -c -f UTF-8 -t UTF-8) and add it again"
        ) from error


def _two_bytes(encoding: str, low: int, high: int, char: str) -> bool:
    """Whether a character's first byte, in a two-byte encoding, is in the block of common ones."""
    try:
        code = char.encode(encoding)
    except UnicodeEncodeError:
        return False
    return len(code) == 2 and low <= code[0] <= high


def _common_chinese(char: str) -> bool:
    return _two_bytes("gb2312", 0xB0, 0xD7, char)  # level 1 of GB 2312


def _common_traditional(char: str) -> bool:
    return _two_bytes("big5", 0xA4, 0xC6, char)  # level 1 of Big5


def _common_japanese(char: str) -> bool:
    return "぀" <= char <= "ヿ" or _two_bytes("shift_jis", 0x88, 0x98, char)  # kana, level 1 of JIS X 0208


def _hangul(char: str) -> bool:
    return "가" <= char <= "힣" and _two_bytes("euc_kr", 0xB0, 0xC8, char)


# encoding, which characters are common, fewest characters to believe it. Where a text reads well in two, the first
# wins: Korean before Chinese because every Hangul syllable is also a common Chinese character, not the reverse.
_EAST_ASIAN = (
    ("cp949", _hangul, 8),
    ("gb18030", _common_chinese, 2),
    ("big5", _common_traditional, 2),
    ("cp932", _common_japanese, 2),
    ("euc_jp", _common_japanese, 2),
)
_PUNCTUATION = frozenset("“”‘’—–…·•±×°÷％～→≤≥≠∞")


def _east_asian(data: bytes) -> str:
    best, best_share = "", _MIN_COMMON
    for encoding, common, fewest in _EAST_ASIAN:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        wide = [c for c in text if c > "\x7f"]
        marks = sum("　" <= c <= "〟" or "！" <= c <= "～" or c in _PUNCTUATION for c in wide)
        words = sum(map(common, wide))
        share = (words + marks) / len(wide)
        if words >= fewest and share > best_share:
            best, best_share = text, share + 0.02  # a later one must be clearly better
    return best


def _western(data: bytes) -> str:
    """Windows-1252, when the text is ASCII with a few accents and typographic marks in sensible places."""
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return ""
    accents = sum(c > "\x7f" and c.isalpha() for c in text)
    few = accents <= max(3, len(text) * _FEW_ACCENTS)
    return text if few and _plausible(text) else ""


def _detected(data: bytes) -> str:
    import chardet

    encoding = chardet.detect(data)["encoding"]
    try:
        text = data.decode(encoding) if encoding else ""
    except (UnicodeDecodeError, LookupError):
        return ""
    return text if _plausible(text) else ""


# A sign inside a word, a lone accented capital inside a word, a word of nothing but accented Latin letters.
_ODD = re.compile(r"[^\W\d_](?:[^\w\s\x00-\x7f‐-‧·­]|[¹²³¼½¾])[^\W\d_]|[a-zà-ÿ][À-ÖØ-Þ][a-zà-ÿ]|(?<!\w)[À-ÿ]{3,}(?!\w)")


def _plausible(text: str) -> bool:
    """No control characters, and hardly any of what no Western text holds."""
    wide = sum(c > "\x7f" for c in text)
    return not _CONTROLS.search(text) and len(_ODD.findall(text)) <= wide / 20
