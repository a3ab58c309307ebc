"""What papers call their own, labels, and which tokens are names."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rag
from rag.corpus import read_papers
from rag.naming import first_words, is_name_like, label_of, names_in, own_name

# The names that the abstracts of the sample give to what they contribute, read by eye, in order; - is none.
SAMPLE = {
    "000_707c410ee5512e6b.txt": "E-SCOT - - MEG-XL - PAMC EvoMAS NSPSG - DWS - DICT Fed-CAW ProEval LGRL SSR SMGD "
    "GeoPT scCBGM",
    "002_c559ccb5c61b717c.txt": "RO-HNN DECOR - - incTNP SyVLA - - - ECO - - MAGIC NPPR Initial_Energy_Injection "
    "DiCode ITERATIVE_RMFT ECG-R1 BlitzRank",
    "004_8ed1026b0fb618a0.txt": "- NCD LSCP IRESET - HIAL sensGAN Tri-Scale_Stiff_NODE TTC PCBF - PGT FeMAM CAMP - "
    "ShapCCS LatentLM - -",
}
NAMES = """E-SCOT MEG-XL incTNP LatentLM scCBGM DWS ECG-R1 DINOv2 ImageNet CIFAR-10 MATH-500 GPT-4o Fed-CAW RO-HNN
    σ-VAE LLMs 3D-VLA L0 VALL-E SMoE DeepSeek-MoE-16B Qwen2.5-VL"""
NO_NAMES = """the Gaussian We pre-trained state-of-the-art 128K 5x 256x256 1hr 2.5 10M II LLM-based e.g U.S 5-shot
    3D a A high-dimensional 25-40"""


@pytest.mark.parametrize("name", SAMPLE)
def test_names_of_the_sample(name):
    papers = read_papers(Path(rag.__file__).parent / "sample" / name).papers
    assert [own_name(paper.text).replace(" ", "_") or "-" for paper in papers] == SAMPLE[name].split()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Labels are costly. We propose FooNet, a network. FooNet wins.", "FooNet"),
        ("In this paper, we present Gato, a generalist agent.", "Gato"),
        ("This paper introduces the Foo Bar Baz (FBB) layer, which is fast. FBB wins.", "FBB"),
        ("We introduce a new benchmark called FooBench. It is hard.", "FooBench"),
        ("We introduce a benchmark suite, FooBench, to test models.", "FooBench"),
        ("Our method, dubbed Foo-X, is fast. Experiments show that Foo-X wins.", "Foo-X"),
        ("The proposed QuxNet achieves 5%. QuxNet is small.", "QuxNet"),
        ("We propose the FedFoo framework to train. FedFoo wins.", "FedFoo"),
        ("We propose **Foo** (**F**ast **o**ptimal **o**rdering), a method.", "Foo"),
        (r"We introduce $\texttt{fooNet}$, a model.", "fooNet"),
        ("By proposing a novel algorithm, termed ZZTOP, we solve it. ZZTOP wins.", "ZZTOP"),
        ("To address this, a FooBar NODE, which is stiff, is introduced in this paper.", "FooBar NODE"),
        ("We rank items. FooRank is fast. Code: https://github.com/someone/FooRank", "FooRank"),
        ("Here we describe DINOv9, a vision model.", "DINOv9"),
        ("本文提出了FooNet，一种新的网络。实验表明FooNet有效。", "FooNet"),
        # What a paper uses, studies or names in passing is not its own.
        ("We evaluate LLaVA on ImageNet and COCO. It fails.", ""),
        ("We train ResNet50 on CIFAR-10 with SGD.", ""),
        ("We propose a method that improves BLLs by using NTK features.", ""),
        ("We introduce a Visual Question Answering (VQA) benchmark. VQA is hard.", ""),
        ("We present the first Lean formalization of statistical learning theory (SLT). SLT is hard.", ""),
        ("We develop a framework for Distributed Compressed SGD (DCSGD). DCSGD wins.", ""),
        ("Recently, Smith et al. (2024) propose FooNet, a network.", ""),
        ("GPT-4 achieves 50% on MMLU.", ""),
        ("We propose data reassembly for CL, a new paradigm.", ""),
        ("We identify a phenomenon that we call Integration Lag.", ""),
        ("Code is at https://github.com/someone/my-code.", ""),
        ("", ""),
    ],
)
def test_own_name(text, name):
    assert own_name(text) == name


def test_label():
    assert label_of("We propose FooNet, a network.", "A *good* title") == "A good title"
    assert label_of("We propose FooNet, a network.") == "FooNet"
    assert (
        label_of("One two three four five six seven eight nine ten.") == "One two three four five six seven eight nine…"
    )
    assert label_of("Only **four** words here.") == "Only four words here."
    assert first_words("我们研究了大语言模型的推理能力与效率，并且提出了新的评测方法和数据。").endswith("…")


@pytest.mark.parametrize("token", NAMES.split())
def test_looks_like_a_name(token):
    assert is_name_like(token)


@pytest.mark.parametrize("token", NO_NAMES.split())
def test_does_not_look_like_a_name(token):
    assert not is_name_like(token)


def test_names_in():
    text = "We compare **LatentLM** and $\\sigma$-VAE with VALL-E 2, on ImageNet (https://x.y/FooBar). LLMs don't."
    assert names_in(text) == {"latentlm", "σ-vae", "vall-e", "imagenet", "llms", "llm"}
    assert names_in("what fid does ssc get") == set()
    assert names_in("HOW MANY CONVERSATIONS WERE ANALYSED WITH GPT-4?") == {"gpt-4"}
    assert names_in("BlitzRank 比同类方法少用多少 token？") == {"blitzrank"}


@settings(deadline=None)
@given(st.text(max_size=200))
def test_never_invents(text):
    name = own_name(text)
    label = label_of(text)
    assert all(isinstance(one, str) for one in (name, label))
    from rag.text import plain

    assert name in plain(text)
    assert label.removesuffix("…") in plain(text)
