"""Numbers in canonical form: what an answer may say when the abstract writes it otherwise."""

import pytest

from rag.numbers import missing_numbers, numbers_in, stated_numbers


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1.5M conversations", {"1500000"}),
        ("1.5 million conversations", {"1500000"}),
        ("1,500,000 conversations", {"1500000"}),
        ("a 7% error and 0.810 AUROC", {"7", "0.81"}),
        ("25–40% fewer, 5-300× longer", {"25", "40", "5", "300"}),
        ("at 128K tokens", {"128000"}),
        ("4100±250 vs. 200±50", {"4100", "250", "200", "50"}),
        ("1. First item\n2. Second item (3) third", set()),
        ("as shown before [2].", set()),
        ("CLEVR, MOVi-C and LLaVA", set()),
        ("seven strategies", set()),
        ("15 亿参数", {"1500000000"}),
    ],
)
def test_numbers_written_with_digits(text, found):
    assert numbers_in(text) == found


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("It has 7 strategies.", "a repertoire of seven evolutionary strategies"),
        ("It analyzes 1.5 million conversations.", "we analyze 1.5M consumer conversations"),
        ("It uses 28000 people.", "Trained on over 28,000 individuals"),
        ("It is tested on CIFAR-10.", "on CIFAR-10 and CIFAR-100"),
        ("A 2.5B model.", "a model of 2.5 billion parameters"),
        ("It takes 6x less memory.", "approximately 6× lower peak memory"),
        ("Between 5 and 300 times.", "5-300× longer than prior work"),
    ],
)
def test_the_same_number_in_another_form_is_not_missing(claim, source):
    assert missing_numbers(claim, source) == []


@pytest.mark.parametrize(
    ("claim", "source", "missing"),
    [
        ("It has 12 layers.", "a network of 7 layers", ["12"]),
        ("It uses 28 people.", "Trained on over 28,000 individuals", ["28"]),
        ("It reaches 27%.", "improves by up to +27.8%", ["27"]),
        ("1.5 billion tokens", "1.5 million tokens", ["1500000000"]),
        ("In 2019 it used 8 GPUs.", "no numbers here", ["2019", "8"]),
    ],
)
def test_an_invented_number_is_missing(claim, source, missing):
    assert missing_numbers(claim, source) == missing


def test_stated_numbers_include_words_and_parts_of_names():
    assert {"7", "2", "10", "100"} <= stated_numbers("seven tasks, VALL-E 2, CIFAR-10, CIFAR-100")
