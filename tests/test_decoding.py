"""Bytes -> text: every encoding that papers come in, and refusals instead of garbage."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.corpus.decoding import decode
from rag.errors import ReadError

ENGLISH = "We propose E-SCOT, a robust framework – it’s “novel” and improves results by 5%. "
PLAIN = "We propose E-SCOT, a robust framework that is novel and improves results by 5%. "
CHINESE = "我们提出了一种新的跨分词器知识蒸馏方法。实验表明，该方法在多个模型上取得了最先进的性能。"
TRADITIONAL = "我們提出了一種新的跨分詞器知識蒸餾方法。實驗表明，該方法在多個模型上取得了最先進的性能。"
JAPANESE = "本論文では、新しい知識蒸留の手法を提案する。実験により、提案手法が既存手法を上回ることを示した。"
KOREAN = "우리는 새로운 지식 증류 방법을 제안한다. 실험 결과 제안한 방법이 기존 방법보다 우수함을 보였다."
RUSSIAN = "Мы предлагаем новый метод дистилляции знаний. Эксперименты показывают, что он лучше."
FRENCH = "Nous proposons une méthode d’apprentissage fédéré, évaluée sur des données hétérogènes à grande échelle. "
GERMAN = "Wir führen ein großes Sprachmodell für Übersetzungen ein; die Größe hängt von der Qualität ab. "
POLISH = "Proponujemy nową metodę destylacji wiedzy. Wyniki pokazują, że nasza metoda jest lepsza od istniejących."
GREEK = "Προτείνουμε μια νέα μέθοδο μάθησης, που είναι καλύτερη από τις υπάρχουσες."


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize(
    "text", [ENGLISH, f"ICML 2026 论文列表\n\n{PLAIN}\n\n{CHINESE}\n", JAPANESE + "\n", KOREAN, RUSSIAN]
)
def test_unicode(text, encoding):
    assert decode(text.encode(encoding), "f") == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (ENGLISH * 6, "cp1252"),
        (FRENCH * 4, "cp1252"),
        (FRENCH.replace("’", "'"), "latin-1"),
        (GERMAN, "latin-1"),
        (ENGLISH * 6, "mac_roman"),
        ("We study naïve Bayes classifiers, which are simple and effective in practice.", "latin-1"),
        ("We use 50 µm and ±5°. It’s 3–5 × faster.", "cp1252"),
        ("The Rényi entropy of Gödel and Poincaré", "latin-1"),
        (CHINESE, "gb18030"),
        (CHINESE, "gbk"),
        (TRADITIONAL, "big5"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        (KOREAN, "euc_kr"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8_r"),
        (POLISH, "cp1250"),
        (POLISH, "iso8859_2"),
        (GREEK, "cp1253"),
        (f"ICML 2026 论文列表\n\n{PLAIN * 20}\n", "gb18030"),
        (f"ICML 2026 論文列表\n\n{PLAIN * 20}\n", "big5"),
        (f"ICML 2026 の論文リスト\n\n{PLAIN * 20}\n", "shift_jis"),
        (f"Статьи конференции ICML 2026\n\n{PLAIN}\n", "cp1251"),
    ],
)
def test_older_encodings(text, encoding):
    assert decode(text.encode(encoding), "f") == text


@pytest.mark.parametrize(
    "data",
    [
        b"%PDF-1.4 something",
        b"PK\x03\x04" + bytes(40),
        b"\x1f\x8b\x08" + bytes(40),
        b"\x89PNG\r\n\x1a\n" + bytes(40),
        bytes(range(256)) * 8,
        b"\x00\x01\x02\x03" * 100,
        b"abc\x00def",
        b"ok text " + b"\x01\x02\x03" * 30,
    ],
)
def test_binary_is_refused(data):
    with pytest.raises(ReadError, match=r"^papers\.txt "):
        decode(data, "papers.txt")


def test_broken_utf8_is_refused_with_its_line():
    data = f"{ENGLISH}\n{CHINESE}\n".encode() + b"broken \xff here\n"
    with pytest.raises(ReadError, match="line 3"):
        decode(data, "f")


def test_broken_utf16_is_refused():
    with pytest.raises(ReadError, match="utf-16"):
        decode("\ufeffabc".encode("utf-16-le") + b"\x00\xd8", "f")


def test_control_characters_become_blanks():
    assert decode(b"a\x1b[31mred\x07 b\tc\n", "f") == "a [31mred  b\tc\n"


def test_nothing_is_replaced_in_silence():
    """Bytes that no encoding explains are refused, not turned into question marks."""
    for data in (b"\xff\xfe\xfd\xfc" * 20 + b"\x81\x8d\x8f", b"word \x81\x8d\x8f\x90\x9d" * 9):
        try:
            text = decode(data, "f")
        except ReadError:
            continue
        assert "\ufffd" not in text


LETTERS = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Co"])


@settings(deadline=None)
@given(st.text(LETTERS))
def test_utf8_is_always_read_as_it_is(text):
    if not text.encode().startswith((b"PK\x03\x04", b"%PDF-", b"SQLite format 3")):
        assert decode(text.encode(), "f") == text.removeprefix("\ufeff")


@settings(deadline=None)
@given(st.text(LETTERS, max_size=200), st.sampled_from(["utf-8-sig", "utf-16", "utf-32"]))
def test_marked_text_is_always_read_as_it_is(text, encoding):
    assert decode(text.encode(encoding), "f") == text


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_give_text_or_a_read_error(data):
    try:
        text = decode(data, "f")
    except ReadError:
        return
    assert "\ufffd" not in text or "\ufffd".encode() in data or b"\xfd\xff" in data or b"\xff\xfd" in data
    assert not any(c < " " and c not in "\t\n\v\f\r" for c in text)
