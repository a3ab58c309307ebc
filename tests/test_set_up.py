"""The set-up: what is pinned, in which order stages run, what a repeat runs, how a failure is told."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def modules(monkeypatch):
    """``set_up`` and ``stages``, which are scripts and import each other as such."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import set_up
    import stages

    return set_up, stages


@pytest.fixture
def stage(modules, monkeypatch, tmp_path):
    """Makes stages of Python code, kept in a folder of the test."""
    set_up, stages = modules
    table = {}
    monkeypatch.setattr(set_up, "STAGES", table)
    monkeypatch.setattr(set_up, "VENV", tmp_path)
    monkeypatch.setattr(set_up, "RECORDS", tmp_path / "set-up")
    monkeypatch.setattr(set_up, "TIMES", tmp_path / "times.json")
    monkeypatch.setattr(set_up, "PYTHON", sys.executable)
    monkeypatch.setattr(set_up, "ROOT", tmp_path)

    def make(name, code, *needs, **more):
        table[name] = stages.Stage(needs, lambda: [[sys.executable, "-c", code]], **{"depends": lambda: "", **more})

    return make


def test_every_direct_dependency_is_pinned_with_a_reason(modules):
    _, stages = modules
    direct = [*stages.PROJECT["dependencies"], *stages.dev(), *stages.TO_BUILD, *stages.TO_PULL]
    lines = {line.split("==")[0]: line for line in stages.PINS.splitlines() if "==" in line}
    for name in direct:
        assert re.fullmatch(rf"{name}==\S+  # \S.+", lines[name]), name


def test_pulling_weights_imports_only_what_is_installed_by_then(modules):
    code = "import sys, rag.cli, rag.settings, models.pull, models.hub, models.wheels; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    of_module = importlib.metadata.packages_distributions()
    distributions = {d for m in loaded.stdout.split() for d in of_module.get(m, [])} - {
        "citebound",
        "setuptools",
        "pip",
    }
    assert "pydantic-settings" in distributions
    assert distributions <= with_requirements(modules[1].TO_PULL)


def with_requirements(names):
    """Distributions and all that they require, without extras."""
    found, ahead = set(), list(names)
    while ahead:
        name = ahead.pop()
        try:
            known = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:  # of another platform
            continue
        if known.name not in found:
            found.add(known.name)
            ahead += [re.match(r"[\w.-]+", need)[0] for need in known.requires or [] if "extra ==" not in need]
    return found


def test_no_package_is_pinned_twice(modules):
    names = re.findall(r"^([A-Za-z0-9._-]+)==", modules[1].PINS, re.MULTILINE)
    assert len(names) == len(set(names))


def test_each_stage_comes_after_what_it_needs(modules):
    set_up, stages = modules
    order = set_up.in_order(["sample", "dev"])
    assert set(order) == set(stages.STAGES)
    for name in order:
        assert all(order.index(need) < order.index(name) for need in stages.STAGES[name].needs)
    assert "weights" not in set_up.in_order(["project"])


@pytest.mark.parametrize(
    ("platform", "gpu", "asked", "wanted"),
    [
        ("linux", False, "", "torch==2.13.0+cpu"),
        ("linux", True, "", "torch==2.13.0"),
        ("darwin", False, "", "torch==2.13.0"),
        ("linux", False, "my/torch.whl", "my/torch.whl"),
    ],
)
def test_a_machine_without_a_gpu_gets_no_cuda_build(modules, monkeypatch, platform, gpu, asked, wanted):
    _, stages = modules
    monkeypatch.setattr(stages.sys, "platform", platform)
    monkeypatch.setattr(stages, "has_gpu", lambda: gpu)
    monkeypatch.setattr(stages, "PINS", "torch==2.13.0  # because\n")
    monkeypatch.setenv("TORCH", asked)
    assert stages.torch_wanted() == wanted


def test_a_missing_cpu_build_is_told_with_the_way_out(modules, monkeypatch):
    _, stages = modules
    monkeypatch.setenv("TORCH", "torch==2.13.0+cpu")
    told = stages.torch_failure("ERROR: No matching distribution found for torch==2.13.0+cpu")
    assert "PIP_EXTRA_INDEX_URL" in told
    assert "TORCH=" in told
    assert "\n" not in told
    assert stages.torch_failure("ERROR: no network") == ""


def test_a_second_run_runs_nothing_and_a_change_runs_what_it_concerns(modules, stage, capsys, tmp_path):
    set_up, _ = modules
    depends = {"one": "a", "two": "b"}
    stage("one", "", depends=lambda: depends["one"])
    stage("two", "", "one", depends=lambda: depends["two"])
    assert set_up.main(["two"]) == 0
    assert "one done" in capsys.readouterr().err
    assert set_up.main(["two"]) == 0
    assert capsys.readouterr().err == ""
    depends["two"] = "c"
    assert set_up.main(["two"]) == 0
    told = capsys.readouterr().err
    assert "two done" in told
    assert "one …" not in told
    assert not (tmp_path / "times.json").exists()


@pytest.mark.usefixtures("stage")
def test_a_stage_that_has_nothing_to_run_is_done(modules, capsys):
    """So it is with an environment in `.venv` that somebody made by hand."""
    set_up, stages = modules
    set_up.STAGES["one"] = stages.Stage((), lambda: [], lambda: "")
    assert set_up.main(["one"]) == 0
    assert "one done" in capsys.readouterr().err
    assert set_up.main(["one"]) == 0
    assert capsys.readouterr().err == ""


def test_a_stage_whose_files_went_away_runs_again(modules, stage, capsys, tmp_path):
    set_up, _ = modules
    left = tmp_path / "left"
    stage("one", f"import pathlib; p = pathlib.Path({str(left)!r}); p.touch(); print(p)", leaves=True)
    assert set_up.main(["one"]) == 0
    left.unlink()
    capsys.readouterr()
    assert set_up.main(["one"]) == 0
    assert "one done" in capsys.readouterr().err
    assert left.exists()


def test_a_failure_shows_the_log_and_ends_the_others(modules, stage, capsys):
    set_up, _ = modules
    stage("slow", "import time; time.sleep(600)")
    stage("bad", "import sys; sys.exit('the reason')")
    stage("after", "", "bad")
    assert set_up.main(["slow", "after"]) == 1
    told = capsys.readouterr().err
    assert "bad failed" in told
    assert "the reason" in told
    assert "after …" not in told


def test_a_failure_that_is_known_is_one_line(modules, stage, capsys):
    set_up, _ = modules
    stage("bad", "import sys; sys.exit('gobbledygook')", failure=lambda log: "do this" if "gobble" in log else "")
    assert set_up.main(["bad"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "set-up stopped: do this"


def test_unknown_stages_are_told(modules, capsys):
    assert modules[0].main(["nonsense"]) == 2
    assert "venv" in capsys.readouterr().err
