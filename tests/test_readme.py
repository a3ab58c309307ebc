"""The README says what is true: files, commands, settings, models, errors, exit codes."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from models.catalog import CATALOG
from models.errors import CiteboundError
from rag import cli, errors
from rag.output import Output
from rag.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
FOLDERS = ("models", "rag", "ui", "eval", "scripts", "tests")
LISTED = set(re.findall(r"^\| `([^`]+)` \|", README.split("<!-- files -->")[1], re.MULTILINE))
CODE = "\n".join([*re.findall(r"`([^`\n]+)`", README), *re.findall(r"^ {4}(\S.*)$", README, re.MULTILINE)])


def modules():
    return {path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}


def test_every_module_is_listed():
    assert modules() - LISTED == set()


def test_every_listed_file_exists():
    assert {name for name in LISTED if not (ROOT / name).exists()} == set()


def test_every_make_target_exists_and_is_told():
    targets = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z-]+)", CODE))
    assert named - targets == set()
    assert targets - named == set()


def test_every_command_exists_and_is_told():
    named = set(re.findall(r"\bcitebound ([a-z]+)", CODE))
    assert named == set(cli.COMMANDS)


def test_every_option_of_the_command_table_exists():
    rows = re.findall(r"^\| `citebound ((?:models )?[a-z]+)[^|]*\| ([^|]*) \|$", README, re.MULTILINE)
    assert len(rows) > 8
    for command, text in rows:
        if command == "eval":
            continue
        out = io.StringIO()
        assert cli.main([*command.split(), "--help"], Output(out, io.StringIO())) == 0
        for option in re.findall(r"`(--?[a-z][a-z-]*)", text):
            assert option in out.getvalue(), f"{command} has no {option}"


def test_every_evaluation_command_exists():
    from eval.__main__ import COMMANDS

    named = set(re.findall(r"python -m eval ([a-z]+)", README))
    assert named
    assert named <= set(COMMANDS)


def test_the_table_of_settings_is_whole_and_right():
    rows = dict(re.findall(r"^\| `([a-z_]+)` \| ([^|]+) \|", section("Settings"), re.MULTILINE))
    assert set(rows) == set(Settings.model_fields)
    for name, told in rows.items():
        default = Settings.model_fields[name].default
        if isinstance(default, bool | int | float | str):
            assert told.strip("`").lower() == str(default).lower(), name


def test_every_variable_exists():
    named = {name.lower() for name in re.findall(r"CITEBOUND_([A-Z_]*[A-Z])", README)}
    assert named - {"debug"} <= set(Settings.model_fields)


def test_the_table_of_models_is_whole_and_right():
    rows = re.findall(
        r"^\| `([a-z0-9._-]+)` \| (generator|embedder)[^|]* \| ([\d,]+) MB \| (\S+) \|", README, re.MULTILINE
    )
    told = {name: (kind, size.replace(",", ""), licence) for name, kind, size, licence in rows}
    assert told == {spec.name: (spec.kind, f"{spec.size / 1e6:.0f}", spec.license) for spec in CATALOG}


def test_every_error_has_its_line_in_the_troubleshooting():
    families = {"CiteboundError", "ModelError", "LibraryError"}
    told = set(re.findall(r"^\| `([A-Za-z]+Error)` \|", section("Troubleshooting"), re.MULTILINE))
    known = {
        kind.__name__ for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, CiteboundError)
    }
    assert told == known - families


def test_the_exit_codes_are_those_of_the_command_line():
    told = set(re.findall(r"^\| (\d+) \|", README, re.MULTILINE))
    explained = {line.split()[0] for line in (cli.__doc__ or "").splitlines() if line.strip()[:1].isdigit()}
    assert told == explained


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
def test_python_examples_compile_and_import_what_exists(block):
    compile(block, "README.md", "exec")
    import rag

    for names in re.findall(r"^from rag import (.+)$", block, re.MULTILINE):
        for name in names.split(","):
            assert hasattr(rag, name.strip())


def test_linked_files_exist():
    for name in re.findall(r"`((?:docs|rag|eval|scripts|ui|models)/[\w./-]+)`", README):
        assert (ROOT / name).exists(), name


def section(title):
    return README.split(f"\n## {title}\n")[1].split("\n## ")[0]
