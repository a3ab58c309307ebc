"""XML files of papers: every field, entities that unfold, what is broken, and how each is told from the others."""

from __future__ import annotations

import io
import resource
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.corpus import acl, atom, pubmed, xml_stream
from rag.corpus.opening import sources
from rag.corpus.records import Format, Options, Record, Skipped
from rag.errors import ReadError

FORMATS = (atom.FORMAT, acl.FORMAT, pubmed.FORMAT)

ATOM = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns:arxiv="http://arxiv.org/schemas/atom" xmlns="http://www.w3.org/2005/Atom">
  <id>https://arxiv.org/api/abc</id>
  <title>arXiv Query: lamps</title>
  <entry>
    <id>http://arxiv.org/abs/2401.00001v3</id>
    <title>Lamps &amp; oil:
      a survey</title>
    <updated>2025-02-03T00:00:00Z</updated>
    <summary>  We study lamps where a &lt; b.
      They burn &#946;-oil.  </summary>
    <category term="cs.LG"/><category term="cs.CL"/><category term="cs.LG"/>
    <published>2024-01-02T00:00:00Z</published>
    <arxiv:journal_ref>Journal of Lamps 3 (2024)</arxiv:journal_ref>
    <author><name>Ada Lamp</name><arxiv:affiliation>Oil House</arxiv:affiliation></author>
    <author><name>Bo Wick</name></author>
    <arxiv:doi>10.1234/LAMP.5</arxiv:doi>
  </entry>
  <entry><id>http://arxiv.org/abs/hep-th/9901001v1</id><title>Old ids</title><summary>We keep them.</summary></entry>
</feed>
"""

ACL = """<?xml version='1.0' encoding='UTF-8'?>
<collection id="2031.lamp">
  <volume id="main" type="proceedings">
    <meta><booktitle>Proceedings of the <fixed-case>L</fixed-case>amp Meeting</booktitle><year>2031</year></meta>
    <frontmatter><url hash="1">2031.lamp-main.0</url><bibkey>lamp-2031</bibkey></frontmatter>
    <paper id="1">
      <title><fixed-case>L</fixed-case>amp<fixed-case>N</fixed-case>et: light for <tex-math>$n$</tex-math> rooms</title>
      <author><first>Ada</first><last>Lamp</last>
        <variant script="hani"><first>灯</first><last>李</last></variant></author>
      <author><first/><last>Wick Group</last></author>
      <abstract>We light <i>rooms</i>.<!-- not
      text --> It costs 5%.</abstract>
      <url hash="2">2031.lamp-main.1</url><doi>10.18653/v1/2031.lamp-main.1</doi>
      <bibkey>lamp-2031-lampnet</bibkey>
    </paper>
    <paper id="2"><title>No abstract</title></paper>
  </volume>
  <volume id="2"><paper id="0"><title>Front</title></paper><paper id="7"><title>Bare</title></paper></volume>
</collection>
"""

PUBMED = """<?xml version="1.0" ?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle//EN" "https://dtd.nlm.nih.gov/none.dtd">
<PubmedArticleSet>
<PubmedArticle><MedlineCitation Status="MEDLINE"><PMID Version="1">123</PMID>
  <Article><Journal><JournalIssue><PubDate><MedlineDate>1998 Dec-1999 Jan</MedlineDate></PubDate></JournalIssue>
      <Title>Journal of lamps</Title></Journal>
    <ArticleTitle>Oil in <i>lamps</i>.</ArticleTitle>
    <Abstract><AbstractText Label="BACKGROUND">Lamps burn H<sub>2</sub>.</AbstractText>
      <AbstractText Label="UNLABELLED">Often.</AbstractText><AbstractText Label="RESULTS"/>
      <AbstractText Label="CONCLUSION">CONCLUSION: They glow.</AbstractText></Abstract>
    <AuthorList><Author><LastName>Lamp</LastName><ForeName>Ada B</ForeName></Author>
      <Author><CollectiveName>The Wick Group</CollectiveName></Author></AuthorList></Article>
  <MeshHeadingList><MeshHeading><DescriptorName>Lamps</DescriptorName><QualifierName>use</QualifierName></MeshHeading>
  </MeshHeadingList><KeywordList><Keyword>oil</Keyword></KeywordList></MedlineCitation>
  <PubmedData><ArticleIdList><ArticleId IdType="pubmed">123</ArticleId><ArticleId IdType="doi">10.1000/A.B</ArticleId>
    </ArticleIdList><ReferenceList><Reference><ArticleIdList><ArticleId IdType="doi">10.1000/other</ArticleId>
    </ArticleIdList></Reference></ReferenceList></PubmedData></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID>124</PMID><Article><ArticleTitle>None</ArticleTitle></Article></MedlineCitation>
  <PubmedData><ReferenceList><Reference><ArticleIdList><ArticleId IdType="doi">10.1000/other</ArticleId></ArticleIdList>
  </Reference></ReferenceList></PubmedData></PubmedArticle>
<PubmedBookArticle><BookDocument><PMID>125</PMID><ArticleIdList><ArticleId IdType="doi">10.1000/book</ArticleId>
  </ArticleIdList><Book><BookTitle>The book of lamps</BookTitle><PubDate><Year>2020</Year></PubDate>
  <AuthorList><Author><LastName>Editor</LastName><Initials>E</Initials></Author></AuthorList></Book>
  <ArticleTitle>Wicks</ArticleTitle><Abstract><AbstractText>Wicks are made of cotton.</AbstractText></Abstract>
  </BookDocument></PubmedBookArticle>
</PubmedArticleSet>
"""

SAMPLES = {"arxiv-atom": ATOM, "acl": ACL, "pubmed-xml": PUBMED}
BOMB = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))


def read(tmp_path: Path, form: Format, text: str | bytes, name: str = "papers.xml") -> list[Record | Skipped]:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    [source] = sources(path)
    return list(form.read(source, Options()))


def refused(tmp_path: Path, form: Format, text: str | bytes) -> str:
    with pytest.raises(ReadError) as caught:
        read(tmp_path, form, text)
    message = str(caught.value)
    assert "\n" not in message
    assert "papers.xml" in message
    return message


def feed(content: str, before: str = "") -> str:
    return f'{before}<feed xmlns="http://www.w3.org/2005/Atom" title="arxiv.org">{content}</feed>'


def test_arxiv_feed(tmp_path):
    first, second = read(tmp_path, atom.FORMAT, ATOM)
    assert first == Record(
        text="We study lamps where a < b. They burn β-oil.", title="Lamps & oil: a survey",
        authors=("Ada Lamp", "Bo Wick"), year=2024, venue="Journal of Lamps 3 (2024)", topics=("cs.LG", "cs.CL"),
        url="https://arxiv.org/abs/2401.00001", doi="10.1234/lamp.5", external_id="arxiv:2401.00001",
    )  # fmt: skip
    assert second.external_id == "arxiv:hep-th/9901001"
    assert second.url == "https://arxiv.org/abs/hep-th/9901001"
    assert second.year is None


def test_arxiv_feed_inside_something_else():
    records = list(atom.records(io.BytesIO(ATOM.encode()), "page.json"))
    assert [record.external_id for record in records] == ["arxiv:2401.00001", "arxiv:hep-th/9901001"]
    with pytest.raises(ReadError, match=r"page\.json"):
        list(atom.records(io.BytesIO(b"<feed><entry>"), "page.json"))


def test_arxiv_error_is_no_paper(tmp_path):
    entry = "<entry><id>http://arxiv.org/api/errors#incorrect_id</id><summary>incorrect id format</summary></entry>"
    [skipped] = read(tmp_path, atom.FORMAT, feed(entry))
    assert isinstance(skipped, Skipped)
    assert "incorrect id format" in skipped.reason


def test_acl_collection(tmp_path):
    first, second, bare = read(tmp_path, acl.FORMAT, ACL)
    assert first == Record(
        text="We light rooms. It costs 5%.", title="LampNet: light for $n$ rooms", authors=("Ada Lamp", "Wick Group"),
        year=2031, venue="Proceedings of the Lamp Meeting", url="https://aclanthology.org/2031.lamp-main.1/",
        doi="10.18653/v1/2031.lamp-main.1", external_id="acl:2031.lamp-main.1",
    )  # fmt: skip
    assert (second.text, second.title, second.external_id) == ("", "No abstract", "acl:2031.lamp-main.2")
    assert (bare.title, bare.venue, bare.year, bare.external_id) == ("Bare", "", None, "acl:2031.lamp-2.7")


@pytest.mark.parametrize(
    ("collection", "volume", "paper", "key"),
    [
        ("J89", "1", "<paper id='1'><url>J89-1001</url></paper>", "J89-1001"),
        ("J89", "1", "<paper id='12'/>", "J89-1012"),
        ("W08", "3", "<paper id='4'/>", "W08-0304"),
        ("D19", "57", "<paper id='4'/>", "D19-5704"),
        ("P07", "1", "<paper id='1004'/>", "P07-1004"),
        ("P07", "1", "<paper id='4'><url>http://www.aclweb.org/anthology/P07-1004</url></paper>", "P07-1004"),
    ],
)
def test_acl_ids_of_old_collections(tmp_path, collection, volume, paper, key):
    text = f"<collection id='{collection}'><volume id='{volume}'>{paper}</volume></collection>"
    [record] = read(tmp_path, acl.FORMAT, text)
    assert record.external_id == f"acl:{key}"
    assert record.url == f"https://aclanthology.org/{key}/"


def test_pubmed_set(tmp_path):
    first, second, book = read(tmp_path, pubmed.FORMAT, PUBMED)
    assert first == Record(
        text="BACKGROUND: Lamps burn H2. Often. CONCLUSION: They glow.", title="Oil in lamps.",
        authors=("Ada B Lamp", "The Wick Group"), year=1998, venue="Journal of lamps", topics=("Lamps", "oil"),
        url="https://pubmed.ncbi.nlm.nih.gov/123/", doi="10.1000/a.b", external_id="pmid:123",
    )  # fmt: skip
    assert (second.text, second.doi) == ("", ""), "a reference's DOI is not the paper's"
    assert book == Record(
        text="Wicks are made of cotton.", title="Wicks", authors=("E Editor",), year=2020, venue="The book of lamps",
        url="https://pubmed.ncbi.nlm.nih.gov/125/", doi="10.1000/book", external_id="pmid:125",
    )  # fmt: skip


@pytest.mark.parametrize("kind", SAMPLES)
def test_each_is_told_from_the_others(tmp_path, kind):
    for number, before in enumerate(["", "\ufeff", "\n\n", "<!-- a <feed> --><!DOCTYPE x [<!ENTITY a '<b>'>]>"]):
        text = SAMPLES[kind]
        if before.startswith("<"):
            text = text[text.index("?>") + 2 :]
        path = tmp_path / f"{number}.xml"
        path.write_text(before + text, encoding="utf-8")
        [source] = sources(path)
        assert [form.name for form in FORMATS if form.fits(source)] == [kind]


@pytest.mark.parametrize(
    "text", ["", "<", "<!--", "<?xml", "<!DOCTYPE a [", "a feed of arxiv.org", "<rss/>", "<feed>of lamps</feed>"]
)
def test_what_is_none_of_them_fits_none(tmp_path, text):
    path = tmp_path / "a.xml"
    path.write_text(text, encoding="utf-8")
    [source] = sources(path)
    assert not any(form.fits(source) for form in FORMATS)
    assert xml_stream.root_tag(source) in {"", "rss", "feed"}


def test_prefix_encoding_and_blank_lines(tmp_path):
    text = ATOM.replace("<feed ", "<a:feed xmlns:a='http://www.w3.org/2005/Atom' ").replace("</feed>", "</a:feed>")
    assert len(read(tmp_path, atom.FORMAT, text)) == 2
    assert len(read(tmp_path, atom.FORMAT, "\n \n" + ATOM)) == 2
    assert len(read(tmp_path, atom.FORMAT, ATOM.replace("UTF-8", "utf-16").encode("utf-16"))) == 2


# --- entities ---


@pytest.mark.parametrize(
    ("declared", "used"),
    [
        (f'<!DOCTYPE feed [<!ENTITY l0 "lol">{BOMB}]>', "<summary>&l9;</summary>"),
        (f'<!DOCTYPE feed [<!ENTITY l0 "lol">{BOMB}]>', "<category term='&l9;'/>"),
        (f'<!DOCTYPE feed [<!ENTITY x "{"A" * 100_000}">]>', f"<summary>{'&x;' * 100_000}</summary>"),
        (f'<!DOCTYPE feed [<!ENTITY x "{"A" * 100_000}">]>', f"<category term='{'&x;' * 100_000}'/>"),
    ],
    ids=["laughs", "laughs in an attribute", "quadratic", "quadratic in an attribute"],
)
def test_entity_bombs_are_refused(tmp_path, declared, used):
    started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    message = refused(tmp_path, atom.FORMAT, feed(f"<entry>{used}</entry>", declared))
    assert "unfold" in message
    assert time.monotonic() - started < 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000, "kB more than before"


@pytest.mark.parametrize(
    "declared",
    [
        '<!DOCTYPE feed [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE feed [<!ENTITY x SYSTEM "http://127.0.0.1:9/x">]>',
        '<!DOCTYPE feed SYSTEM "http://127.0.0.1:9/x.dtd">',
        '<!DOCTYPE feed [<!ENTITY x "own text">]>',
    ],
)
def test_entities_are_never_dropped_in_silence(tmp_path, declared):
    entries = "<entry><summary>We burn &x; in lamps.</summary></entry><entry><summary>Fine.</summary></entry>"
    skipped, fine = read(tmp_path, atom.FORMAT, feed(entries, declared))
    assert isinstance(skipped, Skipped)
    assert "&x;" in skipped.reason
    assert skipped.position == 0
    assert fine.text == "Fine."


def test_entity_in_what_is_not_read_costs_no_record(tmp_path):
    text = feed("<entry><summary>Fine.</summary><x>&x;</x></entry>", '<!DOCTYPE feed [<!ENTITY x "y">]>')
    [record] = read(tmp_path, atom.FORMAT, text)
    assert record.text == "Fine."


# --- what is broken ---


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (feed("<entry>\n<summary>a&nbsp;b</summary></entry>"), 2),
        ("\n\n" + feed("<entry>\n<summary>a&nbsp;b</summary></entry>"), 4),
        (feed("\n\n<entry><summary>a</title></entry>"), 3),
        (feed("<entry><summary>a\x01b</summary></entry>"), 1),
        (feed("<b>" * 5000), 1),
        ('<?xml version="1.0" encoding="none-such"?><feed/>', 1),
        ("", 1),
        ("no XML at all", 1),
    ],
)
def test_broken_xml_is_refused_with_its_line(tmp_path, text, line):
    assert f"line {line} " in refused(tmp_path, atom.FORMAT, text)


def test_records_before_the_break_are_read(tmp_path):
    path = tmp_path / "papers.xml"
    entry = f"<entry><summary>{'Lamps. ' * 1000}</summary></entry>\n"
    path.write_text(feed(entry * 50 + "<entry>").removesuffix("</feed>"), encoding="utf-8")
    [source] = sources(path)
    found = []
    with pytest.raises(ReadError, match="line 51"):
        found.extend(iter(atom.FORMAT.read(source, Options())))
    stream = iter(atom.FORMAT.read(source, Options()))
    assert all(next(stream).text.startswith("Lamps.") for _ in range(40))


def test_record_without_end_is_refused(tmp_path):
    assert "longer than 3 MB" in refused(tmp_path, atom.FORMAT, feed(f"<entry>{'<b/>' * 900_000}</entry>"))


@pytest.mark.parametrize("between", ["", "<c>y</c>", "<!-- z -->", "<?z z?>", "z"])
def test_what_was_read_is_given_back(between):
    """The tree never holds more than what the parser has ahead of the reader: a file of any length fits."""
    held: list[int] = []

    def convert(element: xml_stream.Element) -> None:
        held.append(sum(1 for _ in element.getroottree().iter()))

    text = f"<a>{f'<v><w><b>x</b></w>{between}</v>{between}' * 8_000}</a>"
    assert list(xml_stream.records(io.BytesIO(text.encode()), "x", ("b",), convert)) == []
    assert len(held) == 8_000
    assert max(held) < 10_000


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(sorted(SAMPLES)), st.integers(0, 3000), st.text(max_size=60))
def test_anything_after_a_valid_start_is_read_or_refused(tmp_path_factory, kind, cut, text):
    path = tmp_path_factory.mktemp("h") / "x.xml"
    path.write_bytes((SAMPLES[kind][:cut] + text).encode("utf-8", "surrogatepass"))
    [source] = sources(path)
    for form in FORMATS:
        form.fits(source)
        try:
            list(form.read(source, Options()))
        except ReadError as error:
            assert "\n" not in str(error)  # noqa: PT017 - being refused is one of two right outcomes
