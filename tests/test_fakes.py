"""The doubles keep the protocols' promises."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

from models.errors import GeneratorDiedError, PromptTooLongError, TextTooLongError
from models.fakes import FakeEmbedder, FakeGenerator
from models.protocols import Prompt, Request

PASSAGE = (
    "Passage: Foo reads ten thousand maps. Bar is trained on 3.5 million sentences of law. Nothing else is said.\n\n"
)
OTHER = "Passage: Baz paints walls.\n\n"
ASK = "Question: How many sentences is Bar trained on?\nAnswer in one to three sentences."


def prompt(question: str = ASK, *passages: str) -> Prompt:
    return Prompt("You answer.", passages or (OTHER, PASSAGE), question)


def test_an_answer_quotes_the_sentence_that_shares_most_words() -> None:
    request = Request(prompt())
    pieces = list(FakeGenerator().stream(request))
    assert "".join(pieces) == "Bar is trained on 3.5 million sentences of law."
    assert len(pieces) == 9
    assert request.usage.stopped == "end"
    assert request.usage.new_tokens == 9
    assert request.usage.prompt_tokens == sum(len(t.split()) for t in ("You answer.", OTHER, PASSAGE, ASK))
    assert 0 < request.usage.first_token_s <= request.usage.total_s


def test_max_tokens_ends_the_answer() -> None:
    request = Request(prompt(), max_tokens=3)
    assert "".join(FakeGenerator().stream(request)) == "Bar is trained"
    assert request.usage.stopped == "length"
    exact = Request(prompt(), max_tokens=9)
    assert "".join(FakeGenerator().stream(exact)).endswith("law.")
    assert exact.usage.stopped == "end"


def test_cancelling_ends_the_answer_between_two_pieces() -> None:
    request = Request(prompt())
    pieces = FakeGenerator().stream(request)
    assert next(pieces) == "Bar"
    request.cancel.set()
    assert list(pieces) == []
    assert request.usage.stopped == "cancelled"
    assert request.usage.new_tokens == 1


def test_closing_the_iterator_counts_as_cancelled() -> None:
    request = Request(prompt())
    pieces = FakeGenerator().stream(request)
    next(pieces)
    pieces.close()
    assert request.usage.stopped == "cancelled"
    assert request.usage.total_s > 0


def test_without_passages_a_question_comes_back_as_it_is() -> None:
    asked = Prompt("You answer.", (), "Earlier question: a?\nNew question: And how large is it?\nRewrite it.")
    assert "".join(FakeGenerator().stream(Request(asked))) == "And how large is it?"


def test_a_scripted_answer_and_judgement() -> None:
    generator = FakeGenerator({"SENTENCES IS BAR": "Forty-two."}, {"sentences is bar": 0.25})
    assert "".join(generator.stream(Request(prompt()))) == "Forty-two."
    assert generator.yes_probability([prompt()]) == [0.25]
    assert "".join(generator.stream(Request(prompt("Question: who paints walls?")))) == "Baz paints walls."
    assert generator.prompts == [prompt(), prompt(), prompt("Question: who paints walls?")]


def test_probabilities_order_by_overlap_and_stay_inside() -> None:
    generator = FakeGenerator()
    fits, partly, never = generator.yes_probability(
        [prompt(ASK, PASSAGE), prompt("Question: Is Bar trained on poems of Baz?", PASSAGE), prompt(ASK, OTHER)]
    )
    assert 0 < never < 0.1 < partly < 0.9 < fits < 1
    (nothing,) = generator.yes_probability([prompt("", PASSAGE)])
    assert 0 < nothing < 0.1


def test_a_claim_is_judged_and_not_the_question_before_it() -> None:
    claims = [
        f"Question: How many?\nProposed answer: {text}\nIs it stated?" for text in ("Foo reads maps.", "It rains.")
    ]
    right, wrong = FakeGenerator().yes_probability([prompt(text, PASSAGE) for text in claims])
    assert right > 0.9
    assert wrong < 0.1


def test_prepare_counts_what_is_new_and_streams_report_what_was_cached() -> None:
    generator = FakeGenerator()
    assert generator.prepare("You answer.", [PASSAGE, OTHER, PASSAGE]) == 2
    assert generator.prepare("You answer.", [PASSAGE]) == 0
    assert generator.prepare("Another system.", [PASSAGE]) == 1
    request = Request(prompt())
    list(generator.stream(request))
    assert request.usage.cached_tokens == len((OTHER + PASSAGE).split())
    stop = threading.Event()
    stop.set()
    assert generator.prepare("Third.", [PASSAGE], stop) == 0
    assert generator.yes_probability([prompt()], stop) == []


def test_a_prompt_that_does_not_fit_is_refused() -> None:
    generator = FakeGenerator(context_tokens=100)
    with pytest.raises(PromptTooLongError, match="100"):
        list(generator.stream(Request(prompt(), max_tokens=99)))
    with pytest.raises(PromptTooLongError):
        generator.yes_probability([prompt("word " * 200)])


def test_a_closed_generator_refuses() -> None:
    generator = FakeGenerator()
    generator.close()
    generator.close()
    for call in (
        lambda: list(generator.stream(Request(prompt()))),
        lambda: generator.yes_probability([prompt()]),
        lambda: generator.prepare("s", ["p"]),
    ):
        with pytest.raises(GeneratorDiedError):
            call()


def test_vectors_are_unit_float32_and_the_same_in_every_process() -> None:
    texts = ["Graph networks for maps", "", "的图", "graph NETWORK map!"]
    vectors = FakeEmbedder().encode(texts)
    assert vectors.shape == (4, 256)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1, 1])
    code = f"from models.fakes import FakeEmbedder; print(FakeEmbedder().encode({texts!r}).tobytes().hex())"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == vectors.tobytes().hex()


def test_texts_that_share_words_are_nearer() -> None:
    asked, near, far = FakeEmbedder().encode(["neural graph maps", "maps of a neural graph", "bread and butter"])
    assert asked @ near > 0.9
    assert abs(asked @ far) < 0.2


def test_no_texts_give_no_vectors() -> None:
    assert FakeEmbedder(dimension=8).encode([]).shape == (0, 8)


def test_a_text_that_is_too_long_is_refused_and_not_cut() -> None:
    embedder = FakeEmbedder(max_tokens=3)
    assert embedder.count_tokens("one two three") == 3
    assert embedder.encode(["one two three"]).shape == (1, 256)
    with pytest.raises(TextTooLongError, match=r"4 tokens .* \(3\)"):
        embedder.encode(["one", "one two three four"])
