"""Changes of a file or tree, and the work left."""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gateway.errors import GatewayError
from gateway.migrate.names import PACKAGE, is_autogen
from gateway.migrate.stubs import (
    components_in,
    is_component_file,
    source_tools,
    stub_module,
)
from teams.core import component_class

_MOST_BYTES = 20_000_000
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages"})
_REQUIREMENTS = re.compile(
    r"requirements.*\.(txt|in)|pyproject\.toml|setup\.(cfg|py)|environment\.ya?ml|Pipfile"
)
_CODE = re.compile(rb"autogen|\bruntime\s*=")


@dataclass(frozen=True, slots=True, order=True)
class Remark:
    """A place that needs a hand, and what to do there."""

    path: Path
    line: int
    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.place or self.line}: {self.text}"


@dataclass(frozen=True, slots=True)
class Change:
    """A file's old and new content; a new one has no `before`."""

    path: Path
    before: bytes | None
    after: bytes

    def diff(self) -> str:
        """The change as a unified diff."""
        old = "" if self.before is None else _text(self.before)
        name = self.path.as_posix().lstrip("/")
        lines = difflib.unified_diff(
            _lines(old),
            _lines(_text(self.after)),
            "/dev/null" if self.before is None else f"a/{name}",
            f"b/{name}",
        )
        ended = (
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in lines
        )
        return "".join(ended)


@dataclass(slots=True)
class Migration:
    """The changes of a tree, and the places that need a hand."""

    changes: list[Change] = field(default_factory=list[Change])
    remarks: list[Remark] = field(default_factory=list[Remark])
    files: int = 0
    """Files that were read."""


def plan(root: Path) -> Migration:
    """Read the file or tree; nothing is written."""
    migration = Migration()
    for path in _files(root):
        migration.files += 1
        try:
            _plan_file(path, migration)
        except OSError as error:
            _remark(migration, path, 1, f"it can't be read: {error.strerror}")
    for name in ("teams.py", "teams/__init__.py"):
        own = root / name
        if own.is_file() and root.is_dir() and migration.changes:
            _remark(migration, own, 1, "it hides Parley's package `teams`: rename it")
    migration.remarks.sort()
    return migration


def write(changes: Sequence[Change]) -> None:
    """Write the files, each as a whole and with its mode.

    Raises GatewayError for a file that can't be written.
    """
    for change in changes:
        try:
            _replace(change)
        except OSError as error:
            raise GatewayError(f"{change.path} can't be written: {error.strerror}.") from error


def _replace(change: Change) -> None:
    handle, name = tempfile.mkstemp(dir=change.path.parent, prefix=".parley-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(change.after)
        if change.before is None:
            Path(name).chmod(0o644)
        else:
            shutil.copymode(change.path, name)
        Path(name).replace(change.path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _files(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root.resolve() if root.is_symlink() else root
        return
    for folder, inner, names in os.walk(root):
        at = Path(folder)
        inner[:] = sorted(name for name in inner if _is_entered(at / name))
        yield from (at / name for name in sorted(names) if _is_taken(at / name))


def _is_entered(folder: Path) -> bool:
    hidden = folder.name.startswith(".") or folder.name in _SKIPPED
    return not (hidden or folder.is_symlink() or (folder / "pyvenv.cfg").exists())


def _is_taken(path: Path) -> bool:
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _MOST_BYTES:
        return False
    kinds = (".py", ".pyi", ".ipynb", ".json")
    return path.suffix in kinds or bool(_REQUIREMENTS.fullmatch(path.name))


def _plan_file(path: Path, migration: Migration) -> None:
    data = path.read_bytes()
    if not _CODE.search(data):
        return
    if _REQUIREMENTS.fullmatch(path.name):
        for at, line in enumerate(_text(data).splitlines(), 1):
            if PACKAGE.search(line.partition("#")[0]):
                _remark(migration, path, at, "name parley-gateway instead")
    match path.suffix:
        case ".py" | ".pyi":
            _plan_python(path, data, migration)
        case ".ipynb":
            _plan_notebook(path, data, migration)
        case ".json":
            _plan_components(path, data, migration)
        case _:
            pass


def _plan_python(path: Path, data: bytes, migration: Migration) -> None:
    from gateway.migrate.rewrite import NotPython, rewrite

    try:
        done = rewrite(data)
    except NotPython as error:
        _remark(migration, path, error.line, str(error))
        return
    after = done.code.encode(done.encoding)
    if after != data:
        migration.changes.append(Change(path, data, after))
    for note in done.notes:
        _remark(migration, path, note.line, note.text)


def _plan_notebook(path: Path, data: bytes, migration: Migration) -> None:
    from gateway.migrate.notebooks import rewrite_notebook

    try:
        text, notes = rewrite_notebook(data.decode())
    except ValueError as error:
        _remark(migration, path, 1, f"it can't be read as a notebook: {error}")
        return
    if text.encode() != data:
        migration.changes.append(Change(path, data, text.encode()))
    for each in notes:
        place = f"cell {each.cell}, line {each.note.line}"
        _remark(migration, path, each.cell * 1_000_000 + each.note.line, each.note.text, place)


def _plan_components(path: Path, data: bytes, migration: Migration) -> None:
    """Component files load as they are; their tools need functions."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        return
    if not is_component_file(content):
        return
    for place, form in components_in(content):
        if not is_autogen(form["provider"]):
            continue
        try:
            component_class(form["provider"])
        except (ImportError, TypeError, ValueError):
            text = f"{form['provider']} has no counterpart"
            _remark(migration, path, 1, text, place or "component")
    if not (tools := source_tools(content)):
        return
    module = f"{re.sub(r'[^A-Za-z0-9_]', '_', path.stem)}_tools"
    stub = path.with_name(f"{module}.py")
    overrides = ", ".join(f'"{tool.name}": "{module}:{tool.function}"' for tool in tools)
    text = f"write {stub.name}, and load the file with tool_overrides={{{overrides}}}"
    _remark(migration, path, 1, text)
    if not stub.exists() and not stub.is_symlink():
        made = stub_module(tools, path.name).encode("utf-8", "replace")
        migration.changes.append(Change(stub, None, made))


def _remark(migration: Migration, path: Path, line: int, text: str, place: str = "") -> None:
    migration.remarks.append(Remark(path, line, place, text))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _lines(text: str) -> list[str]:
    """The lines with their ends; a form feed is none."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)
