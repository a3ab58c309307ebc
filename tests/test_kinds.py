"""The road that a question takes, by its form."""

import pytest

from rag.kinds import Kind, kind_of

LISTS = [
    "Which papers use diffusion models?",
    "List all papers on graph learning.",
    "What work is there on robustness?",
    "Are there any papers about proteins?",
    "papers about reinforcement learning",
    "Are there papers on diffusion?",
    "Do you have papers about GRPO?",
    "Which of the papers use transformers?",
    "What studies analyse user conversations?",
    "Show me the studies that involve human participants",
    "Find works on quantization",
    "Who works on causal inference?",
    "哪些论文研究联邦学习？",
    "有哪些关于图神经网络的论文？",
]
ANSWERS = [
    "What does E-SCOT do?",
    "What problem of prior works does E-SCOT address?",
    "What does VALL-E 2 improve over existing works?",
    "What do the ablation studies show?",
    "Which method works best on CIFAR-10?",
    "What is E-SCOT and how it works?",
    "Tell me how E-SCOT works",
    "What works on long horizons?",
    "EvoMAS 有哪些策略？",
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
