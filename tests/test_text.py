"""Plain form, tokens, stems, search terms."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.text import chunks, is_stop, plain, search_terms, stem, stems, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**bold** and *it* and __b__ and `c`", "bold and it and b and 'c'"),
        ("``quoted'' text", '"quoted" text'),
        (r"R\'enyi-entropy", "Rényi-entropy"),
        (r"$\textbf{DECOR}$ ($\textbf{DE}$compose)", "DECOR (DEcompose)"),
        (r"the $\texttt{incTNP}$ model", "the incTNP model"),
        (r"$\mathsf{Foo}$ and \textsc{Bar}", "Foo and Bar"),
        (r"4100$\pm$250 and 65\% and 2$\times$", "4100±250 and 65% and 2×"),
        ("a 7% gain, at most 10% loss \\emph{here}", "a 7% gain, at most 10% loss here"),
        ("it costs $5 and $10 today", "it costs $5 and $10 today"),
        (r"($>$100M) and $\mathcal{O}(1)$", "(>100M) and O(1)"),
        ("What’sUp “x” a–b—c", 'What\'sUp "x" a-b-c'),
        (
            "see [here](https://a.b/c) now, or [https://a.b](https://a.b)",
            "see here (https://a.b/c) now, or https://a.b",
        ),
        (r"\href{https://a.b/c}{here}", "here (https://a.b/c)"),
        ("H<sub>2</sub>O &amp; 5 &lt; 6", "H2O & 5 < 6"),
        ("x < y and y > z", "x < y and y > z"),
        ("ﬁne Ａ L₀", "fine A L0"),
        ("# Heading\ntext", "Heading text"),
        ("snake_case and a*b", "snake_case and a*b"),
        ("**H**ypergraph **A**ctive", "Hypergraph Active"),
        ("AT&T and R&D \\textit{x}", "AT&T and R&D x"),
        ("a\u00adb zero\u200bwidth", "ab zerowidth"),
        ("", ""),
        ("  \n ", ""),
    ],
)
def test_plain(text, expected):
    assert plain(text) == expected


def test_broken_latex_keeps_its_words():
    got = plain(r"broken { \textbf{x $ y & zebra # ~ \\ \frac{alpha")
    assert {"broken", "zebra", "alpha"} <= set(got.split())


@pytest.mark.parametrize(
    "text", ["{" * 3000 + "}" * 3000, "\\textbf{" * 2000 + "word", "$" * 3001 + "word", "\\sqrt" * 1000]
)
def test_hostile_latex_ends(text):
    assert isinstance(plain(text), str)


def test_tokens():
    assert tokens("Accuracy of 2.5% on 28,000 What’sUp images, Montezuma's Revenge") == (
        ["accuracy", "of", "2.5", "on", "28000", "whatsup", "images", "montezuma", "revenge"]
    )
    assert tokens("don't Rényi DINOv2 3D-VLA") == ["dont", "renyi", "dinov2", "3d", "vla"]
    assert tokens("我们提出E-SCOT方法") == ["我们", "们提", "提出", "e", "scot", "方法"]
    assert tokens("好") == ["好"]


def test_stems_carry_content():
    assert stems("What does the method propose?") == ["method", stem("propose")]
    assert stem("reweighting") == stem("reweighted")
    assert stem("dinov2") == "dinov2"
    assert is_stop("the")
    assert not is_stop("method")


def found(text: str, question: str) -> bool:
    """Has a text, for each chunk of a question, all parts or one of the joined spellings?"""
    terms = set(search_terms(text))
    return all(
        terms.issuperset(map(stem, chunk.parts)) or any(stem(one) in terms for one in chunk.joined)
        for chunk in chunks(question)
    )


@pytest.mark.parametrize(
    ("text", "spellings"),
    [
        ("we propose E-SCOT, a", ["E-SCOT", "e-scot", "escot", "E–SCOT", "e scot"]),
        ("under $(L_0, L_1)$-smoothness", ["(L0, L1)", "l0 l1", "(L_0,L_1)", "$(L_{0}, L_{1})$", "L₀"]),
        ("the VALL-E 2 model", ["VALL-E 2", "valle2", "VALL-E", "vall-e 2"]),
        (r"R\'enyi-entropy reweighting", ["Rényi", "renyi", "R\\'enyi", "Renyi entropy", "RÉNYI"]),
        ("the What’sUp benchmark", ["What'sUp", "whatsup", "WhatsUp"]),
        (r"develop $\sigma$-VAE to", ["σ-VAE", "sigma-VAE", "sigma VAE"]),
        ("uses DINOv2 here", ["DINOv2", "dinov2"]),
        ("ResNet-50 backbone", ["ResNet-50", "ResNet50", "resnet 50"]),
        ("a Lean 4 proof", ["Lean 4", "lean4"]),
        ("Cross-Tokenizer distillation", ["cross tokenizer", "crosstokenizer", "cross-tokenizers"]),
        ("2.5M samples and 1.5 million", ["2.5M", "2.5", "1.5 million"]),
        ("28,000 individuals", ["28000", "28,000"]),
        ("联邦学习的方法", ["联邦", "学习", "联邦学习"]),
        ("我们提出FeMAM方法", ["FeMAM", "femam"]),
        ("多层FeMAM", ["FeMAM"]),
    ],
)
def test_names_are_found_however_they_are_written(text, spellings):
    for spelling in spellings:
        assert found(text, spelling), f"{spelling!r} gives {search_terms(spelling)}, not in {search_terms(text)}"


def test_a_number_joins_only_the_name_before_it():
    assert "montezuma7" not in search_terms("Montezuma, 7 games")
    assert "resnet1850" not in search_terms("ResNet18/50")


@settings(deadline=None)
@given(st.text(max_size=300))
def test_any_text_can_be_searched(text):
    for term in search_terms(text):
        assert term
        assert not any(c.isspace() or c == '"' for c in term)
    assert all(tokens(text))
    assert "\n" not in plain(text)


@settings(deadline=None)
@given(st.text(st.sampled_from(list("ab $\\{}%&_^*~#[]()<>'`.-12 \n")), max_size=60))
def test_plain_never_fails(text):
    assert isinstance(plain(text), str)


@pytest.mark.parametrize(
    "group", ["\\sqrt[", "\\frac{", "\\cite[a][b", "\\emph{\\sqrt[}", "{\\sqrt[ }", "\\newcommand{\\a}["]
)
def test_arguments_that_are_never_closed_do_not_hold_everything_up(group):
    # Each one doubled the time; forty would have taken years.
    assert "lamps" in plain(f"We study lamps {group * 40} at night.")


def test_half_open_intervals_are_no_reason_to_give_up_on_latex():
    assert plain("For $x \\in [0,1)$ and $y \\in [0,2)$, R\\'enyi.") == "For x ∈[0,1) and y ∈[0,2), Rényi."
