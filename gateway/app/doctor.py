"""The installation's health: Python, packages, plugins, SQLite, clock, store, ports."""

from __future__ import annotations

import platform
import re
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from importlib.metadata import (
    Distribution,
    PackageNotFoundError,
    distribution,
    packages_distributions,
)
from importlib.util import find_spec
from pathlib import Path

from gateway.app.findings import Finding
from gateway.app.load import load_config
from gateway.app.plugins import check_plugins
from gateway.app.start import check_health, check_start, check_store
from gateway.app.stores import folder_of
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

_EXTRA = re.compile(r"""extra == ['"]([^'"]+)['"]""")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


async def examine(config: Path | None) -> list[Finding]:
    """The state of each part, with advice for those unwell."""
    ours = _ours()
    return [
        _python(sys.version_info[:2]),
        *clashes(packages_distributions(), PACKAGE if ours else ""),
        *([_extras(ours)] if ours else []),
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


def clashes(owners: Mapping[str, Iterable[str]], ours: str) -> Iterator[Finding]:
    """Packages that have put files among Parley's own."""
    for name in OURS:
        others = sorted({*owners.get(name, ())} - {ours} - ({PACKAGE} if not ours else set()))
        spec = find_spec(name)  # which imports nothing
        here = Path(str(spec.origin)).parent.parent if spec and spec.origin else None
        if others:
            remove = " ".join(others)
            text = (
                f"{' and '.join(others)} has a package of this name, too, which mixes with "
                f"Parley's: pip uninstall {remove}, then {AGAIN} {PACKAGE} (in a clone: {AGAIN} .)"
            )
            yield Finding(kind="files", name=name, good=False, text=text)
        elif here is not None and here != Path(__file__).parents[2]:
            text = f"it is imported from {here}, and not from Parley's folder: "
            text += "leave that folder, or take it out of PYTHONPATH"
            yield Finding(kind="files", name=name, good=False, text=text)


def _extras(ours: Distribution) -> Finding:
    there = sorted(name for name, needed in _needed(ours).items() if all(map(_is_there, needed)))
    some = f"installed: {', '.join(there)}" if there else "none is installed"
    text = f"{some}; pip install '{PACKAGE}[NAME]' adds one"
    return Finding(kind="extras", name="extras", good=True, text=text)


def _needed(ours: Distribution) -> dict[str, list[str]]:
    """The packages of each extra."""
    needed: dict[str, list[str]] = {}
    for line in ours.requires or ():
        name = _NAME.match(line)
        if name and (extra := _EXTRA.search(line)):
            needed.setdefault(extra[1], []).append(name[0])
    return {name: each for name, each in needed.items() if PACKAGE not in each}


def _is_there(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True


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
