"""
Tool files: found, imported by path, and what stands in them.

A folder of tool files is imported as a package with a private name: a file may import a neighbour
with ``from ._shared import …``, nothing is put on ``sys.path``, and no name can collide with an
installed package.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import ConfigurationError
from ..execution import redact
from ..logs import get_logger
from .decorators import Declaration, declaration_of
from .unloaded import tool_names_in

_LOG = get_logger(__name__)
FOLDERS = ("skills/tools", "tools")
_PYTHONS_OWN = (ImportError, NameError)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFile:
    """One imported file; ``functions`` are its decorated ones, ``others`` names the rest."""

    path: str
    functions: tuple[tuple[Callable[..., Any], Declaration], ...] = ()
    others: tuple[str, ...] = ()
    error: str | None = None
    held: tuple[str, ...] = field(default=())
    """For a file that did not load: the tools of plans that it would have held."""


def read_tool_files(app_root: Path) -> Iterator[ToolFile]:
    """Import every tool file of the app, in the order of their paths."""
    for folder in FOLDERS:
        directory = app_root / folder
        if not directory.is_dir():
            continue
        package = _private_package(directory)
        for path in sorted(directory.glob("*.py")):
            if path.is_file() and not path.name.startswith("_"):
                yield _read(path, f"{folder}/{path.name}", package)


def _private_package(directory: Path) -> str:
    """Make the folder importable, afresh: files changed since an earlier load are read again."""
    digest = hashlib.sha256(str(directory.resolve()).encode("utf-8", "surrogateescape")).hexdigest()
    name = f"_workflow_runtime_tools_{digest[:16]}"
    for module in [each for each in sys.modules if each.partition(".")[0] == name]:
        del sys.modules[module]
    package = ModuleType(name)
    package.__path__ = [str(directory)]
    sys.modules[name] = package
    importlib.invalidate_caches()
    return name


def _read(path: Path, shown: str, package: str) -> ToolFile:
    try:
        module = importlib.import_module(f"{package}.{path.stem}")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a file may do anything
        reason = _reason(error, path, shown)
        full = redact("".join(traceback.format_exception(error)), limit=20_000)
        _LOG.error("%s does not import; the app starts without its tools\n%s", shown, full)
        return ToolFile(path=shown, error=reason, held=tool_names_in(path))
    public = [(n, v) for n, v in vars(module).items() if inspect.isroutine(v)]
    functions = [(v, d) for _, v in public if (d := declaration_of(v)) is not None]
    others = [
        name
        for name, value in public
        if not name.startswith("_")
        and declaration_of(value) is None
        and getattr(value, "__module__", None) == module.__name__
    ]
    return ToolFile(path=shown, functions=tuple(functions), others=tuple(others))


def _reason(error: BaseException, path: Path, shown: str) -> str:
    """Name the error's type and line, and its text where that is ours or Python's own."""
    kind = type(error).__name__
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"{shown}, line {error.lineno}: {kind}: {error.msg}"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    where = f"{shown}, line {frames[-1].lineno}" if frames else shown
    if isinstance(error, ConfigurationError):
        return f"{where}: {error}"
    said = f": {redact(str(error), limit=200)}" if isinstance(error, _PYTHONS_OWN) else ""
    return f"{where}: {kind}{said}"
