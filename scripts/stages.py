"""The stages of the set-up as a table: what each needs first, which commands it runs, what a repeat depends on.

Runs nothing itself, ``set_up`` does. Standard library only: it is read before anything is installed.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
WHEELS = VENV / "wheels"
PYTHON = str(VENV / "bin" / "python")
CONSTRAINTS = ROOT / "constraints.txt"
PINS = CONSTRAINTS.read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PIP = (PYTHON, "-m", "pip", "--no-input", "--disable-pip-version-check")
# Most of what is installed is never imported: what is, Python compiles then.
INSTALL = (*PIP, "install", "--no-compile", "--constraint", str(CONSTRAINTS))
TO_PULL = ("filelock", "httpx", "numpy", "platformdirs", "pydantic-settings", "rapidfuzz", "rich")
"""What `citebound models pull` imports: with these, weights come down while the rest is still being built."""
TO_BUILD = ("cmake", "editables", "hatchling", "ninja", "scikit-build-core")
CHOICES = ("CITEBOUND_HOME", "CITEBOUND_MODEL", "CITEBOUND_EMBEDDER", "XDG_DATA_HOME", "HOME")
"""Variables that say which models are wanted, and where."""
NO_CPU_TORCH = (
    "pip finds no CPU build of torch (torch=={version}+cpu), and the usual Linux build brings gigabytes of CUDA that a "
    "machine without an NVIDIA GPU has no use for. Give pip the address that PyTorch's install page shows for pip and "
    "CPU: make … PIP_EXTRA_INDEX_URL=…; or a wheel: make … TORCH=path/to/torch.whl; or take the usual build all the "
    "same: make … TORCH=torch=={version}"
)
NO_COMPILER = "llama.cpp needs a C++ compiler: install one (Debian and Ubuntu: apt install g++) and run make again"
NO_VENV = "this Python can't make virtual environments: install its venv module (Debian and Ubuntu: apt install {})"

Command = Sequence[str]


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage. ``run`` gives its commands when its turn comes; ``depends`` all that a repeat depends on, as text.

    Stages that ``write`` change the environment's packages and run one at a time. The last command of one that
    ``leaves`` files prints their paths, a line each: it counts as done only while they exist. ``failure`` makes one
    line fit for a user out of a failed stage's log, or nothing when it knows no better.
    """

    needs: tuple[str, ...]
    run: Callable[[], Sequence[Command]]
    depends: Callable[[], str]
    writes: bool = False
    leaves: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    failure: Callable[[str], str] = lambda _: ""


def pin(name: str) -> str:
    """The version that constraints.txt pins; LookupError when it pins none."""
    found = re.search(rf"^{re.escape(name)}==([^\s;#]+)", PINS, re.MULTILINE)
    if found is None:
        raise LookupError(f"constraints.txt has no pin for {name}")
    return found[1]


def make_venv() -> Sequence[Command]:
    """A new environment, unless there is one by this Python and made for this very folder."""
    made = VENV / "pyvenv.cfg"
    text = made.read_text(encoding="utf-8") if made.exists() and Path(PYTHON).exists() else ""
    right = f"version = {platform.python_version()}\n" in text and text.rstrip().endswith(str(VENV))
    return [] if right else [[sys.executable, "-m", "venv", "--clear", str(VENV)]]


def torch_wanted() -> str:
    """TORCH if set; else a CPU build on Linux without a GPU, where the usual build is for CUDA; else the usual one."""
    usual = f"torch=={pin('torch')}"
    cpu = sys.platform == "linux" and not has_gpu()
    return os.environ.get("TORCH") or (f"{usual}+cpu" if cpu else usual)


def has_gpu() -> bool:
    """Whether NVIDIA's driver answers."""
    smi = shutil.which("nvidia-smi")
    return smi is not None and subprocess.run([smi, "-L"], capture_output=True, check=False).returncode == 0  # noqa: S603


def torch_failure(log: str) -> str:
    """Say what to do when it is the CPU build that can't be found."""
    missing = "No matching distribution found for torch" in log and torch_wanted().endswith("+cpu")
    return NO_CPU_TORCH.format(version=pin("torch")) if missing else ""


def llama_failure(log: str) -> str:
    """Say what to install when there is no compiler."""
    return NO_COMPILER if re.search(r"CMAKE_C(XX)?_COMPILER", log) else ""


def venv_failure(log: str) -> str:
    """Say what to install when Python comes without its venv module."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    return NO_VENV.format(version) if re.search("ensurepip|No module named venv", log) else ""


def build_llama() -> Sequence[Command]:
    """Compile llama.cpp's library, and only it, into a wheel; a wheel from before goes."""
    shutil.rmtree(WHEELS, ignore_errors=True)
    wanted = f"llama-cpp-python=={pin('llama-cpp-python')}"
    return [[*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(WHEELS), wanted]]


def lean() -> str:
    """CMake arguments that leave out what the Python package doesn't use; the user's own come after and win."""
    include = shlex.quote(f"-DCMAKE_PROJECT_llama_cpp_INCLUDE={ROOT / 'scripts' / 'lean-llama.cmake'}")
    return f"{include} -DLLAVA_BUILD=OFF {os.environ.get('CMAKE_ARGS', '')}".strip()


def llama_wheels() -> list[Path]:
    """The built wheel, or nothing yet."""
    return sorted(WHEELS.glob("llama_cpp_python-*.whl"))


def install_project() -> Sequence[Command]:
    """Put the built wheel and the project itself into the environment, then see whether everything fits."""
    return [
        [*INSTALL, "--no-deps", "--force-reinstall", *map(str, llama_wheels())],
        [*INSTALL, f"llama-cpp-python=={pin('llama-cpp-python')}"],  # what that wheel needs
        [*PIP, "install", "--no-deps", "--no-build-isolation", "--editable", str(ROOT)],
        [*PIP, "check"],
    ]


def packages() -> list[str]:
    """The project's dependencies but the two that have a stage of their own."""
    return [name for name in PROJECT["dependencies"] if name not in ("torch", "llama-cpp-python")]


def dev() -> list[str]:
    """What tests and checks need on top."""
    return list(PROJECT["optional-dependencies"]["dev"])


def text_of(*patterns: str) -> str:
    """The text of files of the project."""
    paths = sorted(path for pattern in patterns for path in ROOT.glob(pattern))
    return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in paths)


def chosen() -> str:
    """The user's choices of models and places."""
    return repr([(name, os.environ.get(name)) for name in CHOICES])


STAGES: dict[str, Stage] = {
    "venv": Stage(
        needs=(),
        run=make_venv,
        depends=lambda: f"{sys.version} {ROOT}",
        writes=True,
        failure=venv_failure,
    ),
    "tools": Stage(("venv",), lambda: [[*INSTALL, *TO_PULL, *TO_BUILD]], lambda: PINS, writes=True),
    "torch": Stage(
        needs=("tools",),
        run=lambda: [[*INSTALL, torch_wanted()]],
        depends=lambda: PINS + torch_wanted(),
        writes=True,
        failure=torch_failure,
    ),
    "llama": Stage(
        needs=("tools",),
        run=build_llama,
        depends=lambda: pin("llama-cpp-python") + lean() + text_of("scripts/lean-llama.cmake"),
        environment={"CMAKE_ARGS": lean()},
        failure=llama_failure,
    ),
    "weights": Stage(
        needs=("tools",),
        run=lambda: [[PYTHON, "-m", "rag.cli", "models", "pull"]],
        depends=lambda: chosen() + text_of("models/catalog.py"),
        leaves=True,
    ),
    "packages": Stage(("torch",), lambda: [[*INSTALL, *packages()]], lambda: PINS + repr(packages()), writes=True),
    "dev": Stage(("packages",), lambda: [[*INSTALL, *dev()]], lambda: PINS + repr(dev()), writes=True),
    "project": Stage(
        needs=("packages", "llama"),
        run=install_project,
        depends=lambda: text_of("pyproject.toml") + repr([(str(p), p.stat().st_mtime_ns) for p in llama_wheels()]),
        writes=True,
    ),
    "sample": Stage(
        needs=("project", "weights"),
        run=lambda: [[PYTHON, "-c", "from rag import Library; print(Library.sample().folder)"]],
        depends=lambda: chosen() + text_of("rag/sample/*.txt"),
        leaves=True,
    ),
}
