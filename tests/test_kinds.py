"""The road that a question takes, by its form."""

import pytest

from rag.kinds import Kind, kind_of

LISTS = [
    "Which papers use diffusion models?",
    "List all papers on graph learning.",
    "What work is there on robustness?",
    "Are there any papers about proteins?",
    "papers about reinforcement learning",
    "Show me the studies that involve human participants",
    "Find works on quantization",
    "Who works on causal inference?",
    "哪些论文研究联邦学习？",
    "有哪些关于图神经网络的论文？",
]
ANSWERS = [
    "What does E-SCOT do?",
    "Which paper introduces LatentLM?",
    "Which datasets are used by CAMP?",
    "What methods does the paper compare with?",
    "Summarize the abstract about symmetries.",
    "How does the method work on CIFAR-10?",
    "BlitzRank 是什么？",
]


@pytest.mark.parametrize("question", LISTS)
def test_asks_for_papers(question):
    assert kind_of(question) is Kind.LIST


@pytest.mark.parametrize("question", ANSWERS)
def test_asks_about_a_paper(question):
    assert kind_of(question) is Kind.ANSWER
