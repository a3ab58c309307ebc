"""Where bytes come from: packed files, bombs, endless lines, and names of all kinds."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from rag.corpus import read_papers
from rag.corpus.opening import sources
from rag.corpus.records import Skipped
from rag.corpus.sources import LINE, RECORD, Source
from rag.errors import ReadError

A = "We introduce FooNet, a network for bars. It reaches 5.2% on Baz."
B = "Diffusion models are slow to sample from. We make them fast without retraining."


def only(path: Path) -> Source:
    [found] = sources(path)
    assert isinstance(found, Source)
    return found


def zipped(path: Path, **members: str | bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), content)
    return path


def test_gzip(tmp_path):
    path = tmp_path / "papers.txt.gz"
    path.write_bytes(gzip.compress(f"{A}\n\n{B}\n".encode()))
    source = only(path)
    assert (source.name, source.suffix) == ("papers.txt.gz", ".txt")
    assert [paper.text for paper in read_papers(path).papers] == [A, B]


def test_gzip_whatever_it_is_called(tmp_path):
    path = tmp_path / "papers"
    path.write_bytes(gzip.compress(f"{A}\n\n{B}\n".encode()))
    assert len(read_papers(path).papers) == 2


def test_zip(tmp_path):
    path = zipped(tmp_path / "all.zip", one_txt=A, sub__two_jsonl='{"abstract": "We sort socks by colour and smell."}')
    reading = read_papers(path)
    assert [(paper.source, paper.position) for paper in reading.papers] == [
        ("all.zip/one.txt", 0),
        ("all.zip/sub/two.jsonl", 1),
    ]
    assert [source.key for source in sources(path)] == [f"{path}/one.txt", f"{path}/sub/two.jsonl"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (gzip.compress(A.encode())[:-4], "can't be unpacked"),
        (gzip.compress(A.encode())[:20] + b"rubbish" * 9, "can't be unpacked"),
        (b"PK\x03\x04 and no more", "can't be unpacked"),
        (gzip.compress(b"\0" * 10**8), "grows more than 100-fold"),
    ],
)
def test_what_can_not_be_unpacked(tmp_path, content, why):
    path = tmp_path / "papers.gz"
    path.write_bytes(content)
    with pytest.raises(ReadError, match=why) as raised:
        read_papers(path)
    assert "papers.gz" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_packed_folder_of_another_kind(tmp_path):
    path = tmp_path / "papers.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        info = tarfile.TarInfo("one.txt")
        info.size = len(A)
        archive.addfile(info, io.BytesIO(A.encode()))
    with pytest.raises(ReadError, match="unpack it and add the folder"):
        read_papers(path)


def test_members_that_are_left_out_say_why(tmp_path):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("x.txt", A)
    path = zipped(tmp_path / "all.zip", one_txt=A, inner_zip=inner.getvalue(), **{"_hidden_txt": B})
    found = list(sources(path))
    assert [one.name for one in found if isinstance(one, Source)] == ["all.zip/one.txt"]
    assert [str(one) for one in found if isinstance(one, Skipped)] == [
        "all.zip/inner.zip: is an archive inside an archive: unpack it first"
    ]


def test_an_office_document(tmp_path):
    path = tmp_path / "papers.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<x/>")
    with pytest.raises(ReadError, match="office document"):
        read_papers(path)


def test_a_zip_of_too_many_files(tmp_path):
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(20_001):
            archive.writestr(str(number), b"")
    with pytest.raises(ReadError, match="more than 20000 files"):
        read_papers(path)


def test_a_line_without_end(tmp_path):
    path = tmp_path / "papers.jsonl"
    path.write_bytes(b'{"abstract": "' + b"a " * LINE + b'"}\n')
    with pytest.raises(ReadError, match="is longer than"):
        read_papers(path)


def test_a_record_without_end(tmp_path):
    path = tmp_path / "papers.json"
    path.write_bytes(b'[{"abstract": "' + b"a " * RECORD)
    with pytest.raises(ReadError, match=r"papers\.json.*longer than"):
        read_papers(path)


LIMITED = """
import resource, sys, time
from rag.corpus import read_papers
from rag.errors import ReadError
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read_papers(sys.argv[1])
except ReadError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.parametrize("suffix", ["txt", "json", "jsonl", "csv", "ris", "xml", "bib"])
def test_a_gigabyte_in_one_line_is_refused_in_little_memory(tmp_path, suffix):
    name = f"papers.{suffix}"
    starts = {
        "papers.json": b'[{"abstract": "', "papers.jsonl": b'{"abstract": "', "papers.csv": b"title,abstract\na,b",
        "papers.ris": b"TY  - JOUR\nAB  - ", "papers.xml": b"<collection id='a'><volume><paper><abstract>",
        "papers.bib": b"@article{a, abstract={",
    }  # fmt: skip
    path = tmp_path / name
    with path.open("wb") as file:
        file.write(starts.get(name, b""))
        block = b"a" * (1 << 20)
        for _ in range(1 << 10):
            file.write(block)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, timeout=60, check=True,
        cwd=Path(__file__).parent.parent,
    )  # fmt: skip
    error, megabytes = done.stdout.splitlines()
    assert name in error
    assert int(megabytes) < 200


def test_links_that_lead_back_are_not_followed(tmp_path):
    from rag.corpus import Options
    from rag.outline import survey

    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "one.txt").write_text(f"{A}\n\n{B}\n")
    (folder / "again").symlink_to(folder)
    (folder / "itself.txt").symlink_to(folder / "itself.txt")
    surveyed = survey([folder], Options(), lambda *_: None)
    assert [Path(outline.source.key).name for outline in surveyed.outlines] == ["one.txt"]
    with pytest.raises(ReadError, match="leads to itself"):
        read_papers(folder / "itself.txt")


def test_a_name_that_is_no_utf8(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff.txt"
    with open(path, "w") as file:  # noqa: PTH123 - a path of bytes
        file.write(f"{A}\n\n{B}\n")
    assert read_papers(os.fsdecode(path)).papers[0].source == "\ufffd.txt"


def test_large_text_is_read_line_by_line_when_it_is_utf8(tmp_path):
    path = tmp_path / "large.csv"
    row = "é" * 1000
    with path.open("w", encoding="utf-8") as file:
        for _ in range(17_000):
            file.write(row + "\n")
    lines = only(path).lines()
    assert next(lines) == row + "\n"
    assert sum(1 for _ in lines) == 16_999
    with path.open("ab") as file:
        file.write(b"\xff\n")
    with pytest.raises(ReadError, match="is not UTF-8"):
        sum(1 for _ in only(path).lines())
