"""The installation's health: Python, packages, plugins, SQLite, clock, store, ports."""

from __future__ import annotations

import platform
import re
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path

from gateway.app.findings import Finding
from gateway.app.load import load_config
from gateway.app.plugins import check_plugins
from gateway.app.start import check_health, check_start, check_store
from gateway.app.stores import folder_of
from gateway.base.own_packages import foreign_package
from gateway.config.problems import ConfigError

PACKAGE = "parley-gateway"
AGAIN = "pip install --force-reinstall --no-deps"
OURS = ("adapters", "gateway", "teams")
OLDEST_PYTHON = (3, 11)
TRIED = """
    CREATE TABLE t (k TEXT PRIMARY KEY, v TEXT);
    INSERT INTO t VALUES ('a', '{"b": 1}') ON CONFLICT (k) DO UPDATE SET v = excluded.v;
    SELECT json_extract(v, '$.b'), row_number() OVER (ORDER BY k) FROM t;
"""
"""A trial of all that the store asks of SQLite."""

_NEEDED = re.compile(r"""([\w.-]+)\s*(?:\[([^]]*)\])?[^;]*;\s*extra\s*==\s*['"]([^'"]+)['"]""")
"""A requirement of an extra. Those of some platforms only are left out."""


async def examine(config: Path | None) -> list[Finding]:
    """The state of each part, with advice for those unwell."""
    ours = _ours()
    return [
        _python(sys.version_info[:2]),
        *clashes(_owners(), PACKAGE if ours else ""),
        *([extras(ours)] if ours else []),
        *check_plugins(),
        _sqlite(),
        clock(time.time(), _installed()),
        *await _of_config(config),
    ]


def _installed() -> float:
    return Path(__file__).stat().st_mtime


def _ours() -> Distribution | None:
    try:
        return distribution(PACKAGE)
    except PackageNotFoundError:
        return None  # run from its folder


def _python(version: Iterable[int]) -> Finding:
    good, wanted = tuple(version) >= OLDEST_PYTHON, ".".join(map(str, OLDEST_PYTHON))
    text = f"{platform.python_version()}, {sys.executable}"
    advice = "" if good else f": Parley needs {wanted} or later; install it in another environment"
    return Finding(kind="python", name="python", good=good, text=text + advice)


def _owners() -> dict[str, list[str]]:
    """The packages that have Python files of Parley's names.

    `packages_distributions` reads the lists of all others, too, for half a second.
    """
    found: dict[str, list[str]] = {name: [] for name in OURS}
    lists = ("top_level.txt", "RECORD", "installed-files.txt", "SOURCES.txt")
    for each in distributions():
        listed = next(filter(None, map(each.read_text, lists)), "")
        for name in OURS:
            files = rf"^(\.\./)?{name}((/.*)?\.py)?(,.*)?$"
            if name in listed and re.search(files, listed, re.MULTILINE):
                found[name].append(str(each.metadata.json.get("name", "")))
    return found


def clashes(owners: Mapping[str, Iterable[str]], ours: str) -> Iterator[Finding]:
    """Packages that have put files among Parley's own."""
    for name in OURS:
        known = {each for each in owners.get(name, ()) if each}  # a broken one has no name
        others = sorted(known - {ours} - ({PACKAGE} if not ours else set()))
        if others:
            remove = " ".join(others)
            text = (
                f"{' and '.join(others)} has a package of this name, too, which mixes with "
                f"Parley's: pip uninstall {remove}, then {AGAIN} {PACKAGE} (in a clone: {AGAIN} .)"
            )
            yield Finding(kind="files", name=name, good=False, text=text)
        elif text := foreign_package(name):
            yield Finding(kind="files", name=name, good=False, text=text)


def extras(ours: Distribution) -> Finding:
    """The extras that are there, and those that can be added."""
    named = {extra for extra, package, _ in _needs(ours) if package != PACKAGE}
    there = {extra for extra in named if _has(ours, {extra})}
    lists = [("installed", there), ("not installed", named - there)]
    text = "; ".join(f"{state}: {', '.join(sorted(each))}" for state, each in lists if each)
    if there != named:
        text += f". pip install '{PACKAGE}[NAME]' adds one"
    return Finding(kind="extras", name="extras", good=True, text=text)


def _needs(package: Distribution) -> Iterator[tuple[str, str, set[str]]]:
    """The packages that its extras need, and the extras of those."""
    for found in filter(None, map(_NEEDED.fullmatch, package.requires or ())):
        name, more, extra = found.groups()
        yield extra, name, {*re.split(r"\s*,\s*", more or "")}


def _has(package: Distribution, extras: set[str]) -> bool:
    """True if all is there that these extras of a package need."""
    try:
        needed = [(name, more) for extra, name, more in _needs(package) if extra in extras]
        return all(_has(distribution(name), more) for name, more in needed)
    except PackageNotFoundError:
        return False


def _sqlite() -> Finding:
    problem = ""
    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.executescript(TRIED)
    except sqlite3.Error as error:
        problem = f": {error}; Parley needs a Python whose SQLite can do that"
    text = f"{sqlite3.sqlite_version}{problem}"
    return Finding(kind="sqlite", name="sqlite", good=not problem, text=text)


def clock(now: float, installed: float) -> Finding:
    """The time, which can't be before that of the installation."""
    shown = time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(now))
    good = now > installed - 86_400
    advice = "" if good else ": it is before Parley was installed; set the clock, such as by NTP"
    return Finding(kind="clock", name="clock", good=good, text=shown + advice)


async def _of_config(path: Path | None) -> list[Finding]:
    """The config, its store and its ports; nothing is written."""
    try:
        loaded = load_config(path)
    except ConfigError as error:
        text = f"{str(error).splitlines()[0]}; `parley check` lists them"
        return [Finding(kind="config", name="config", good=False, text=text)]
    source = str(loaded.source or "built in; `parley init` writes one to start from")
    found = [Finding(kind="config", name="config", good=True, text=source)]
    wrong = [*await check_start(loaded, offline=True)]
    wrong += [] if wrong else await check_store(loaded, offline=True)
    store = str((loaded.config.store.url and "a database") or folder_of(loaded.config))
    well = [Finding(kind="store", name="store", good=True, text=store)]
    return [*found, *(wrong or well), *await check_health(loaded)]
