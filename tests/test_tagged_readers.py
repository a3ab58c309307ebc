"""RIS, Web of Science, MEDLINE, BibTeX and tables: every field, each kind of breakage, and how they are told apart."""

from __future__ import annotations

import csv
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.corpus import abstracts, bibtex, nbib, ris, tables, wos
from rag.corpus.opening import sources
from rag.corpus.records import Format, Options, Record, Skipped
from rag.corpus.sources import Source
from rag.errors import ReadError

FORMATS = (ris.FORMAT, wos.FORMAT, nbib.FORMAT, bibtex.FORMAT, tables.FORMAT)

RIS = """TY  - JOUR
AN  - 987
DB  - Lampbase
TI  - Oil in <i>lamps</i>
AU  - Lamp, Ada
AU  - Wick, Bo
T2  - Journal of Lamps
JA  - J. Lamps
PY  - 2014//
DA  - 2013/01/02
KW  - *oil
KW  - wicks; glass
AB  - Lamps burn oil.
DO  - https://doi.org/10.1234/LAMP
UR  - http://lamps.example/1; http://lamps.example/2
ER  - #

TY  - CONF
T1  - Second
ER  - #
""".replace("#", "")  # RIS ends with a blank

WOS = """FN Clarivate Analytics Web of Science
VR 1.0
PT J
AU Lamp, A
   Wick, B
AF Lamp, Ada
   Wick, Bo
TI Oil in lamps and
   in stoves
SO JOURNAL OF LAMPS
DE oil; glass
ID WICKS
AB Lamps burn oil.
   They glow (C) 2014.
PY 2014
DI 10.1234/LAMP
UT WOS:000123
ER

PT C
TI Second
PM 456
ER

EF
"""

NBIB = """PMID- 123
OWN - NLM
DP  - 2014 Jan-Feb
TI  - Oil in lamps and
      in stoves.
LID - 10.1234/LAMP [doi]
AB  - BACKGROUND: Lamps burn
      oil. RESULTS: They glow - often.
FAU - Lamp, Ada
AU  - Lamp A
FAU - Wick, Bo
AU  - Wick B
TA  - J Lamps
JT  - Journal of lamps
PMC - PMC99
MH  - Oils/*chemistry
MH  - *Lamps
OT  - glass
AID - S1 [pii]

PMID- 124
TI  - Second
AU  - Wick B
TA  - J Lamps
"""

BIB = r"""% made by hand
@string{jl = "Journal " # {of Lamps}}
@article{lamp2014,
  title = {{\'E}tude of {Oil} \& {$O(n)$} lamps: 5% more},
  author = "M{\"u}ller, J{\"o}rg and {The Wick, Group} and van der Berg, Bo and others",
  journal = JL # ", Series {B}",
  year = 2014, month = jan,
  abstract = {{We {do} burn $a<b$ oil: \alpha. <b>Much</b>.}},
  keywords = {oil, wicks; glass},
  doi = {10.1234/LAMP\_1},
  url = {\url{http://lamps.example/a\_b}},
}
@comment{@article{no, title={No}}}
Text between entries, ada@lamps.example.
@misc{lamp2014, title = "A {"}quoted{"} lamp", date = {2021-05-01}, eprint = {2401.00001v2}, archivePrefix = {arXiv}}
"""

CSV = """title,abstract,authors,year,Source title,DOI,Link,Author Keywords,record_id
Oil in lamps,"Lamps burn oil,
""much"" of it.","Lamp, Ada; Wick, Bo",2014,Journal of Lamps,10.1234/LAMP,http://lamps.example/1,oil; glass,7
Second,,,,,,,,8
"""

SAMPLES = {"ris": RIS, "wos": WOS, "nbib": NBIB, "bibtex": BIB, "csv": CSV}
ENDINGS = {"ris": "ris", "wos": "ciw", "nbib": "nbib", "bibtex": "bib", "csv": "csv"}


def source_of(tmp_path: Path, text: str | bytes, name: str = "papers.txt") -> Source:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    [source] = sources(path)
    assert isinstance(source, Source)
    return source


def read(tmp_path: Path, form: Format, text: str | bytes, **columns: str) -> list[Record | Skipped]:
    return list(form.read(source_of(tmp_path, text), Options(columns=columns)))


def refused(tmp_path: Path, form: Format, text: str, **columns: str) -> str:
    with pytest.raises(ReadError) as caught:
        read(tmp_path, form, text, **columns)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def fitting(source: Source) -> list[str]:
    return [form.name for form in FORMATS if form.fits(source)]


# --- how they are told apart ---


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize("before", ["", "\ufeff", "\n\n"])
def test_each_is_told_by_its_content_whatever_its_ending(tmp_path, kind, before):
    for ending in ("txt", ENDINGS[kind], "dat"):
        assert fitting(source_of(tmp_path, before + SAMPLES[kind], f"a.{ending}")) == [kind]
        assert fitting(source_of(tmp_path, SAMPLES[kind].replace("\n", "\r\n"), f"b.{ending}")) == [kind]


def test_content_goes_before_the_ending(tmp_path):
    for kind, text in SAMPLES.items():
        if kind != "csv":
            assert fitting(source_of(tmp_path, text, "a.csv")) == [kind]
            assert fitting(source_of(tmp_path, text, "a.ris")) == [kind]


@pytest.mark.parametrize("kind", SAMPLES)
def test_what_begins_like_nothing_is_told_by_its_ending(tmp_path, kind):
    assert fitting(source_of(tmp_path, "", f"a.{ENDINGS[kind]}")) == [kind]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "We read RIS, where TY  - JOUR begins a record, and BibTeX (@article{key, title=...}).",
        "To cite this, write:\n\nTY  - JOUR\nTI  - Lamps\nER  - \n",
        "# Lamps\n\n```\n@article{lamp, title={Lamps}}\n```\n",
        "@ada wrote {this}, and = that.",
        "PMID- 123 is a paper that says more than others do.\n",
        "Title, abstract\n\nWe study lamps, which burn oil.\n",
        "Abstract, title, and authors of papers\n\nWe study lamps, which burn oil, and stoves.\n",
        "PT boats are fast; FN guns are loud.\n",
        "TY - the actor - is no tag.\n",
    ],
)
def test_prose_that_speaks_of_formats_is_none(tmp_path, text):
    source = source_of(tmp_path, text)
    assert fitting(source) == []
    assert abstracts.FORMAT.fits(source)


@pytest.mark.parametrize(
    "text",
    [
        "1." + "\n" * 60_000 + "x",
        "TY  - " + " \n" * 30_000,
        "FN " + " " * 65_000,
        "@a{" + " " * 65_000,
        "% \n" * 20_000,
        "PMID- " + "1" * 65_000,
        "VR 1" + " " * 65_000,
        ",abstract" * 7_000,
    ],
)
def test_no_start_takes_long_to_tell(tmp_path, text):
    started = time.monotonic()
    fitting(source_of(tmp_path, text))
    assert time.monotonic() - started < 2


# --- RIS ---


def test_ris(tmp_path):
    first, second = read(tmp_path, ris.FORMAT, RIS)
    assert first == Record(
        text="Lamps burn oil.", title="Oil in lamps", authors=("Ada Lamp", "Bo Wick"), year=2014,
        venue="Journal of Lamps", topics=("oil", "wicks", "glass"), url="http://lamps.example/1", doi="10.1234/lamp",
        external_id="id:987",
    )  # fmt: skip
    assert second == Record(text="", title="Second")


@pytest.mark.parametrize(
    "broken",
    [
        "\ufeff" + RIS,
        "Record #1 of 2\nProvider: Lampbase\nContent: text/plain\n1.\n"
        + RIS.replace("\nTY  - CONF", "\n2.\nTY  - CONF"),
        RIS.replace("ER  - \n", ""),
        RIS.replace("ER  - ", "ER  -"),
        RIS.replace("  - ", "  -"),
        RIS.replace("  - ", " - "),
        RIS.replace("TI  - ", "XX  - unknown\nZZ  -\nSP  -\nTI  - "),
        RIS.replace("Lamps burn oil.", "Lamps\n  burn\n\noil."),
        RIS.replace("KW  - wicks; glass", "wicks\nglass"),
        RIS.replace("TY  - CONF", "TY  -"),
        RIS.replace("\n", "\r\n"),
        RIS.replace("DA  - 2013/01/02", "Y1  - nonsense").replace("PY  - 2014//", "PY  - n.d.\nDA  - 2014/01"),
    ],
)
def test_broken_ris_reads_the_same(tmp_path, broken):
    first, second = read(tmp_path, ris.FORMAT, broken)
    whole = read(tmp_path, ris.FORMAT, RIS)[0]
    assert first == whole
    assert second.title == "Second"


def test_ris_takes_the_longer_abstract_and_keeps_its_hyphens(tmp_path):
    text = "TY  - JOUR\nN2  - Short.\nAB  - Women with\nER-positive tumours, and\nB1 - a vitamin.\nER  - \n"
    [record] = read(tmp_path, ris.FORMAT, text)
    assert record.text == "Women with ER-positive tumours, and B1 - a vitamin."
    [record] = read(tmp_path, ris.FORMAT, text.replace("N2", "AB").replace("AB  - Women", "N2  - Women"))
    assert record.text.startswith("Women")


@pytest.mark.parametrize(
    ("lines", "external_id"),
    [
        ("AN  - 123\nDB  - PubMed", "pmid:123"),
        ("AN  - 123\nDP  - Ovid MEDLINE(R)", "pmid:123"),
        ("AN  - 123\nDB  - Embase", "id:123"),
        ("ID  - rayyan-1", "id:rayyan-1"),
        ("DO  - 10.48550/arXiv.2401.00001", "arxiv:2401.00001"),
        ("UR  - https://arxiv.org/abs/2401.00001v2", "arxiv:2401.00001"),
        ("TI  - none", ""),
    ],
)
def test_ris_ids(tmp_path, lines, external_id):
    [record] = read(tmp_path, ris.FORMAT, f"TY  - JOUR\n{lines}\nER  - \n")
    assert record.external_id == external_id


def test_ris_doi_of_an_address_and_nonsense_year(tmp_path):
    [record] = read(
        tmp_path, ris.FORMAT, "TY  - JOUR\nUR  - https://doi.org/10.1/x\nUR  - https://doi.org/10.1000/X\nPY  - x\n"
    )
    assert record.doi == "10.1000/x"
    assert record.year is None


def test_record_without_end_is_refused(tmp_path):
    assert "longer than" in refused(tmp_path, ris.FORMAT, "TY  - JOUR\nAB  - a\n" + "b\n" * 100_000)


# --- Web of Science and MEDLINE ---


def test_wos(tmp_path):
    first, second = read(tmp_path, wos.FORMAT, WOS)
    assert first == Record(
        text="Lamps burn oil. They glow (C) 2014.", title="Oil in lamps and in stoves",
        authors=("Ada Lamp", "Bo Wick"), year=2014, venue="JOURNAL OF LAMPS", topics=("oil", "glass", "WICKS"),
        doi="10.1234/lamp", external_id="id:WOS:000123",
    )  # fmt: skip
    assert (second.title, second.external_id) == ("Second", "pmid:456")
    assert len(read(tmp_path, wos.FORMAT, WOS.replace("ER\n", "").replace("EF\n", ""))) == 2


def test_nbib(tmp_path):
    first, second = read(tmp_path, nbib.FORMAT, NBIB)
    assert first == Record(
        text="BACKGROUND: Lamps burn oil. RESULTS: They glow - often.", title="Oil in lamps and in stoves.",
        authors=("Ada Lamp", "Bo Wick"), year=2014, venue="Journal of lamps", topics=("Oils", "Lamps", "glass"),
        url="https://pubmed.ncbi.nlm.nih.gov/123/", doi="10.1234/lamp", external_id="pmid:123",
    )  # fmt: skip
    assert second == Record(
        text="", title="Second", authors=("Wick B",), venue="J Lamps",
        url="https://pubmed.ncbi.nlm.nih.gov/124/", external_id="pmid:124",
    )  # fmt: skip


def test_nbib_records_without_blank_lines_and_with_too_many(tmp_path):
    for text in (NBIB.replace("\n\n", "\n"), NBIB.replace("AB  - ", "\nAB  - "), NBIB.replace("\n", "\r\n")):
        assert [record.external_id for record in read(tmp_path, nbib.FORMAT, text)] == ["pmid:123", "pmid:124"]
        assert read(tmp_path, nbib.FORMAT, text)[0].text.endswith("often.")


def test_pmc_medlars(tmp_path):
    text = "PMC - PMC1\nPMID- 1\nAB  - One.\n\nPMC - PMC2\nAB  - Two.\nAID - 10.1000/x [doi]\n"
    source = source_of(tmp_path, text)
    assert fitting(source) == ["nbib"]
    first, second = nbib.FORMAT.read(source, Options())
    assert (first.text, first.external_id) == ("One.", "pmid:1")
    assert (second.text, second.external_id, second.doi) == ("Two.", "pmc:PMC2", "10.1000/x")
    assert second.url == "https://pmc.ncbi.nlm.nih.gov/articles/PMC2/"


# --- BibTeX ---


def test_bibtex(tmp_path):
    first, second = read(tmp_path, bibtex.FORMAT, BIB)
    assert first == Record(
        text=r"We {do} burn $a<b$ oil: \alpha. Much.", title="Étude of Oil & $O(n)$ lamps: 5% more",
        authors=("Jörg Müller", "The Wick Group", "Bo van der Berg"), year=2014, venue="Journal of Lamps, Series B",
        topics=("oil", "wicks", "glass"), url="http://lamps.example/a_b", doi="10.1234/lamp_1",
        external_id="id:lamp2014",
    )  # fmt: skip
    assert second == Record(text="", title='A "quoted" lamp', year=2021, external_id="arxiv:2401.00001")


def test_broken_bibtex_costs_only_the_broken_entry(tmp_path):
    entries = ("@misc{a, title={A}}", "@misc{b, title={B", "@misc(c, title={C}, title={2})", "@misc{d title={D}}")
    text = "\n".join([*entries, "@misc{e, title={E}"])
    found = read(tmp_path, bibtex.FORMAT, text)
    assert [item.title if isinstance(item, Record) else item.position for item in found] == ["A", 1, "C", 3, 4]
    assert [item.reason.split(" is")[0] for item in found if isinstance(item, Skipped)] == [
        "line 2",
        "line 4",
        "line 5",
    ]


@pytest.mark.parametrize(
    ("author", "names"),
    [
        (r"{\'A}ngel, Jr., Jos{\'e}", ("José Ángel Jr.",)),
        (r"{\O}rsted", ("Ørsted",)),
        (r"Ludwig van Beethoven and {Barnes and Noble}", ("Ludwig van Beethoven", "Barnes and Noble")),
        ("Doe, J. and others", ("J. Doe",)),
        ("", ()),
        ("others", ()),
    ],
)
def test_bibtex_names(tmp_path, author, names):
    [record] = read(tmp_path, bibtex.FORMAT, f"@misc{{a, author = {{{author}}}}}")
    assert record.authors == names


@pytest.mark.parametrize(
    ("fields", "external_id", "venue", "url"),
    [
        ("journal={arXiv preprint arXiv:2401.00001}", "arxiv:2401.00001", "arXiv preprint arXiv:2401.00001", ""),
        ("eprint={123}, archivePrefix={pmid}", "id:a", "", ""),
        ("howpublished={\\url{https://a.example/b}}", "id:a", "", "https://a.example/b"),
        ("howpublished={Blog}", "id:a", "Blog", ""),
        ("booktitle={Proc.}, howpublished={Blog}", "id:a", "Proc.", ""),
    ],
)
def test_bibtex_ids_and_addresses(tmp_path, fields, external_id, venue, url):
    [record] = read(tmp_path, bibtex.FORMAT, f"@misc{{a, {fields}}}")
    assert (record.external_id, record.venue, record.url) == (external_id, venue, url)


def test_bibtex_strings_that_multiply_are_refused(tmp_path):
    text = "@string{a0={0123456789}}\n" + "".join(f"@string{{a{i + 1} = a{i} # a{i} # a{i}}}\n" for i in range(30))
    assert "without measure" in refused(tmp_path, bibtex.FORMAT, text)


@pytest.mark.parametrize(
    "title",
    [
        "{" * 5000 + "}" * 5000,
        "\\(" * 900,
        "\\sqrt[" * 30,
        "\\sqrt[" * 4,
        "\\verb",
        "\\'\\input",
        "\\frac" * 500,
        "\\begin{a}" * 300,
        '\\"' * 900,
    ],
)
def test_odd_latex_is_left_as_it_is(tmp_path, title):
    assert len(read(tmp_path, bibtex.FORMAT, f"@misc{{a, title={{{title}}}, abstract={{Fine.}}}}")) == 1


# --- tables ---


def test_csv(tmp_path):
    first, second = read(tmp_path, tables.FORMAT, CSV)
    assert first == Record(
        text='Lamps burn oil,\n"much" of it.', title="Oil in lamps", authors=("Ada Lamp", "Bo Wick"), year=2014,
        venue="Journal of Lamps", topics=("oil", "glass"), url="http://lamps.example/1", doi="10.1234/lamp",
        external_id="id:7",
    )  # fmt: skip
    assert second == Record(text="", title="Second", external_id="id:8")


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("before", ["", "\ufeff", "sep={}\n", "\n\n", "Search of May\n\nfor lamps\n"])
def test_separators_and_headings(tmp_path, separator, before):
    rows = f"Title{separator}Abstract{separator}Year\nOil{separator}Lamps, stoves; oil.{separator}2014\n"
    if separator in ",;":
        rows = rows.replace("Lamps, stoves; oil.", '"Lamps, stoves; oil."')
    [record] = read(tmp_path, tables.FORMAT, before.format(separator) + rows)
    assert record == Record(text="Lamps, stoves; oil.", title="Oil", year=2014)


@pytest.mark.parametrize(
    ("heading", "field"),
    [
        ("AB", "text"), ("abstract_note", "text"), ("Abstract Note", "text"), ("notes_abstract", "text"),
        ("Primary abstract", "text"), ("ABSTRACT", "text"), ("Article Title", "title"), ("Document Title", "title"),
        ("primary_title", "title"), ("Source title", "venue"), ("Publication Title", "venue"),
        ("Journal/Book", "venue"),
    ],
)  # fmt: skip
def test_names_of_columns(tmp_path, heading, field):
    other = "Abstract" if field != "text" else "x"
    [record] = read(tmp_path, tables.FORMAT, f"{heading},{other}\nvalue,other\n")
    assert getattr(record, field) == "value"


@pytest.mark.parametrize(
    ("cell", "authors"),
    [
        ("\"['Marx, Karl', 'Lindgren, Astrid']\"", ("Karl Marx", "Astrid Lindgren")),
        ('"[""Marx, Karl"", null]"', ("Karl Marx",)),
        ('"[{""name"": ""Ada Lamp""}]"', ("Ada Lamp",)),
        ('"Lamp, Ada (57194541010); Wick, Bo (5)"', ("Ada Lamp", "Bo Wick")),
        ("[" * 5000 + "]" * 5000, None),
        ('"[\'broken"', None),
    ],
)
def test_authors(tmp_path, cell, authors):
    [record] = read(tmp_path, tables.FORMAT, f"Author full names,Abstract\n{cell},Lamps.\n")
    assert authors is None or record.authors == authors
    assert record.text == "Lamps."


@pytest.mark.parametrize(
    ("heading", "cell", "external_id"),
    [
        ("PMID", "123", "pmid:123"),
        ("PMID", "123.0", "pmid:123"),
        ("EID", "2-s2.0-85", "id:2-s2.0-85"),
        ("arxiv_id", "2401.00001v1", "arxiv:2401.00001"),
        ("id", "1234567", "id:1234567"),
        ("DOI", "10.48550/arXiv.2401.00001", "arxiv:2401.00001"),
    ],
)
def test_ids_in_tables(tmp_path, heading, cell, external_id):
    [record] = read(tmp_path, tables.FORMAT, f"{heading},Abstract\n{cell},Lamps.\n")
    assert record.external_id == external_id


def test_embase_source_and_keywords(tmp_path):
    text = 'Title,Source,Abstract,keywords\nOil,Lamps (2014) 3:3 (152-160). Date: 2014,Glow.,"cyst (a, b), oil"\n'
    [record] = read(tmp_path, tables.FORMAT, text)
    assert (record.venue, record.year, record.topics) == ("Lamps", 2014, ("cyst (a, b)", "oil"))


def test_columns_that_the_user_names(tmp_path):
    text = "Name,My Column,Kind\nOil,Lamps burn.,stove\n"
    [record] = read(tmp_path, tables.FORMAT, text, abstract="My Column", topics="kind")
    assert (record.text, record.title, record.topics) == ("Lamps burn.", "Oil", ("stove",))
    message = refused(tmp_path, tables.FORMAT, text, abstract="Absent")
    assert "Absent" in message
    assert "Name, My Column, Kind" in message
    assert "abstract, title" in refused(tmp_path, tables.FORMAT, text, colour="Kind")


def test_no_column_of_abstracts(tmp_path):
    for text in ("a;b\n1;2\n", "x\n", "a,b", ",,\n"):
        message = refused(tmp_path, tables.FORMAT, text)
        assert "--column abstract=NAME" in message
        assert "papers.txt" in message
    assert "a, b" in refused(tmp_path, tables.FORMAT, "a;b\n1;2\n")


def test_rows_with_too_few_or_too_many_cells(tmp_path):
    text = (
        "id,title,abstract,year\n1,One\n\n,,,\n2,Two,Lamps.\n3,Three,Lamps burn oil in a long sentence.,2014,note\n"
        "4,Four,Lamps burn oil, and so do stoves.,2014\n5,Five,Lamps.,2014,,\n"
    )
    short, two, three, four, five = read(tmp_path, tables.FORMAT, text)
    assert isinstance(short, Skipped)
    assert "2 cells" in short.reason
    assert (two.text, two.year) == ("Lamps.", None)
    assert three.text == "Lamps burn oil in a long sentence."
    assert isinstance(four, Skipped)
    assert "quotes" in four.reason
    assert (five.text, five.year) == ("Lamps.", 2014)


def test_one_column(tmp_path):
    found = read(tmp_path, tables.FORMAT, "abstract\nLamps burn oil, wood and gas.\nStoves, too, do.\n")
    assert [record.text for record in found] == ["Lamps burn oil, wood and gas.", "Stoves, too, do."]


def test_quotation_mark_that_is_never_closed(tmp_path):
    first, skipped = read(tmp_path, tables.FORMAT, 'title,abstract\na,Lamps.\nb,"Never\nc,d\ne,f\n')
    assert first.text == "Lamps."
    assert isinstance(skipped, Skipped)
    assert "lines 3 to 5" in skipped.reason


def test_long_cells_leave_the_limit_of_csv_alone(tmp_path):
    before = csv.field_size_limit()
    long = "Lamps burn. " * 20_000
    rows = iter(tables.FORMAT.read(source_of(tmp_path, f"title,abstract\nab,{long}\nc,d\n"), Options()))
    assert next(rows).text == long.strip()
    assert csv.field_size_limit() == before
    assert next(rows).text == "d"
    assert "longer than" in refused(tmp_path, tables.FORMAT, 'title,abstract\na,"' + "lamps\n" * 3_000_000)
    assert csv.field_size_limit() == before


@settings(deadline=None, max_examples=120)
@given(st.sampled_from(sorted(SAMPLES)), st.integers(0, 700), st.text(max_size=80))
def test_anything_after_a_valid_start_is_read_or_refused(tmp_path_factory, kind, cut, text):
    path = tmp_path_factory.mktemp("h") / "x.txt"
    path.write_bytes((SAMPLES[kind][:cut] + text).encode("utf-8", "surrogatepass"))
    [source] = sources(path)
    for form in FORMATS:
        form.fits(source)
        try:
            assert all(isinstance(item, Record | Skipped) for item in form.read(source, Options()))
        except ReadError as error:
            assert "\n" not in str(error)  # noqa: PT017 - being refused is one of two right outcomes


@settings(deadline=None, max_examples=100)
@given(st.text(alphabet=st.sampled_from("{}\"#@,=\\$%&~[]()ab -'`^_\n"), max_size=60))
def test_any_latex_is_read(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("h") / "x.bib"
    path.write_text(f"@article{{a, title={{{text}}}, author={{{text}}}, journal={text}}}\n@misc{{b, title={{B}}}}\n")
    [source] = sources(path)
    assert list(bibtex.FORMAT.read(source, Options()))
