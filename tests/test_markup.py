"""Markup in abstracts and answers becomes styled runs of text, whatever is thrown at it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.markup import MARKED_LENGTH, Kind, runs


def shown(text: str, **how: bool) -> str:
    return "".join(run.text if run.kind is Kind.TEXT else f"⟨{run.text}⟩" for run in runs(text, **how))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("so $i<j$ holds", "so ⟨i<j⟩ holds"),
        (r"\(a_1\) and \[b\] and $$c$$", "⟨a_1⟩ and ⟨b⟩ and ⟨c⟩"),
        (r"\begin{equation}x=1\end{equation}", "⟨x=1⟩"),
        (r"$3 \times 4$ and $12\%$", r"⟨3 \times 4⟩ and ⟨12\%⟩"),
        ("a $5$-fold gain in $k$-means", "a ⟨5⟩-fold gain in ⟨k⟩-means"),
        (r"4100$\pm$250 and 200$\pm$50, 3$<$4", r"4100⟨\pm⟩250 and 200⟨\pm⟩50, 3⟨<⟩4"),
        # prices
        ("costs $5 and $10 or $1,000", "costs $5 and $10 or $1,000"),
        ("between $5-$10, US$20 per $k$", "between $5-$10, US$20 per ⟨k⟩"),
        ("$5 million for 3$ more", "$5 million for 3$ more"),
        (r"costs \$5 where $x$ is \$6", "costs $5 where ⟨x⟩ is $6"),
        # words
        (r"R\'enyi, G\"{o}del, \c{c}a", "Rényi, Gödel, ça"),
        (r"\emph{a \textbf{b} c}", "a b c"),
        (r"{\em a} ``quoted'' `q'", "a “quoted” ‘q’"),
        ('an ``overthinking" model', 'an “overthinking" model'),
        (r"7\% of R\&D, 1--2, x---y, --flag", "7% of R&D, 1–2, x—y, --flag"),
        (r"10 \pm 1 \alpha", "10 ± 1 α"),
        (r"\unknown{x} stays, \emph{unclosed", r"\unknown{x} stays, \emph{unclosed"),
        ("**bold** and *it* but A* and 2*3*4", "bold and it but A* and 2*3*4"),
        ("`code_x`", "code_x"),
        (r"$\textbf{DECOR}$ (decompose)", "DECOR (decompose)"),
        # links become words
        ("[here](http://a.example/x)", "here (http://a.example/x)"),
        ("![alt](http://a.example/x.png)", "alt (http://a.example/x.png)"),
        (r"\href{javascript:alert(1)}{see}", "see (javascript:alert(1))"),
        (r"\url{http://a.example}", "http://a.example"),
        # what could leave a formula is not typeset
        (r"$\href{http://a.example}{x}$", r"$\href{http://a.example}{x}$"),
        (r"$\def\x{y}\x$ $\rule{9em}{9em}$", r"$\def\x{y}\x$ $\rule{9em}{9em}$"),
        (r"\[\includegraphics{http://a.example/x}\]", r"\[\includegraphics{http://a.example/x}\]"),
        ("<b>x</b> & <script>", "<b>x</b> & <script>"),
    ],
)
def test_what_is_shown(text: str, expected: str) -> None:
    assert shown(text) == expected


def test_styles_nest_and_end() -> None:
    styles = {run.text: run.styles for run in runs(r"a **b *c* d** \texttt{e} f")}
    assert styles == {
        "a ": (), "b ": ("strong",), "c": ("strong", "em"), " d": ("strong",), " ": (), "e": ("code",), " f": (),
    }  # fmt: skip


def test_what_a_user_typed_keeps_its_signs() -> None:
    assert shown(r"is **x** $a_1$ \emph{y} `z'?", rich=False) == r"is **x** ⟨a_1⟩ \emph{y} `z'?"


@given(st.text(alphabet="ab $\\{}*`'[]()!-_%<&é\n", max_size=80))
def test_any_text_gives_ordered_runs_within_it(text: str) -> None:
    found = runs(text)
    assert all(0 <= run.start < run.end <= len(text) for run in found)
    assert all(a.end <= b.start for a, b in pairwise(found))
    assert all(run.text == text[run.start : run.end] for run in found if run.divisible and run.text.isalpha())


@given(st.text(alphabet="abc .,", max_size=60))
def test_plain_text_is_shown_as_it_is(text: str) -> None:
    assert shown(text) == text


@pytest.mark.parametrize("piece", ["\\[", "\\emph{", "$x ", "**a ", "`a ", "![a", "\\begin{align}", "\\href{", "$$ "])
def test_a_text_made_to_be_slow_is_read_to_its_end(piece: str) -> None:
    text = (piece * MARKED_LENGTH)[:MARKED_LENGTH]  # where looking ahead is not bounded, this takes minutes
    assert runs(text)[-1].end == MARKED_LENGTH


def test_a_text_beyond_all_abstracts_is_shown_as_written() -> None:
    text = "$x$ " * MARKED_LENGTH
    assert shown(text) == text


def test_formulas_nested_beyond_reason_are_shown_as_written() -> None:
    text = "$" + "{" * 100 + "x" + "}" * 100 + "$"
    assert shown(text) == text
