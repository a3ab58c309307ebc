"""Dependencies point one way, and importing the program is light."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("models", "rag", "ui", "eval")
HEAVY = {
    "chromadb", "gradio", "httpx", "llama_cpp", "onnxruntime", "pandas", "pylatexenc", "rich", "scipy",
    "sentence_transformers", "sklearn", "torch", "transformers",
}  # fmt: skip
LINT = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(config_filename=sys.argv[1]))"
UPSIDE_DOWN = """
[importlinter]
root_packages =
    rag
    models

[importlinter:contract:upside-down]
name = models stand above rag
type = layers
layers =
    models
    rag
"""
IMPORT = """
import importlib, pathlib, sys
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.py")):
    parts = path.with_suffix("").parts
    importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
print(*sorted(sys.modules), sep="\\n")
"""

EXPLAIN = """
import sys
from rag.cli import main
main(["--help"])
main(["models", "list"])
print(*sys.modules, sep="\\n")
"""


def python(code, *argv):
    return subprocess.run([sys.executable, "-c", code, *argv], cwd=ROOT, capture_output=True, text=True, check=False)


def test_dependencies_point_one_way():
    done = python(LINT, "pyproject.toml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_dependency_the_other_way_would_be_found(tmp_path):
    (tmp_path / "contract.ini").write_text(UPSIDE_DOWN, encoding="utf-8")
    done = python(LINT, str(tmp_path / "contract.ini"))
    assert done.returncode == 1
    assert "models stand above rag BROKEN" in done.stdout


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_every_module_of_a_package_loads_nothing_heavy(package):
    done = python(IMPORT, package)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert package in loaded
    assert not loaded & HEAVY


def test_the_command_line_explains_itself_without_anything_heavy():
    done = python(EXPLAIN)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert "rag.cli" in loaded
    assert not loaded & HEAVY
