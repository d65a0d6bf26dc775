"""Finding and reading the config file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from gateway.app.adapters import AdapterSettings, read_adapters
from gateway.base.imports import Imports
from gateway.base.paths import find_config
from gateway.config.problems import ConfigError, Problem
from gateway.config.root import Config
from gateway.config.toml import KeyPath, substitute
from gateway.config.validation import validate

_PLACE = re.compile(r"(?P<what>.*) \(at (?P<place>line \d+, column \d+|end of document)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedConfig:
    """A valid config, its file (None: the built-in one), and import paths.

    `adapters` are its chat platforms, unless it was read without `references`.
    """

    config: Config
    source: Path | None
    imports: Imports
    adapters: Mapping[str, AdapterSettings] = field(default_factory=dict[str, AdapterSettings])


def load_config(
    path: Path | None = None, *, references: bool = True, instead: Mapping[str, Any] | None = None
) -> LoadedConfig:
    """The config from `path`, a usual place, or the built-in one.

    The places: $PARLEY_CONFIG, ./config.toml, config.toml in the user's config folder, which is
    ~/.config/parley. Without `references`, names and import paths are taken on trust: for commands
    that use no team. `instead` are tables that stand in for the file's own. Raises ConfigError with
    everything that is wrong.
    """
    source = path or find_config()
    text = _read(source) if source else ""
    written = _parse(text, source) | dict(instead or {})
    folder = source.absolute().parent if source else Path.cwd()
    imports = Imports(folder if source else None)
    problems: list[Problem] = []

    def missing(place: KeyPath, variable: str) -> None:
        said = f"the environment variable {variable} is not set (for the text itself, write $${{)"
        problems.append(Problem(path=place, text=said))

    data = substitute(written, missing)
    config, wrong = validate(Config, data, written=written, folder=folder)
    problems += wrong
    adapters: Mapping[str, AdapterSettings] = {}
    if references:
        from gateway.references.check import check_references  # it loads the engine

        problems += check_references(config, written, imports)
        tables = written.get("adapters")
        shown = cast("dict[str, Any]", tables) if isinstance(tables, dict) else {}
        adapters, wrong = read_adapters(config.adapters, shown, folder)
        problems += wrong
    if problems:
        raise ConfigError(problems, source=_name(source), text=text)
    return LoadedConfig(config=config, source=source, imports=imports, adapters=adapters)


def _read(source: Path) -> str:
    try:
        return source.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        problem = f"cannot read it: {error.strerror}; `parley init {source}` writes one"
    except OSError as error:
        problem = f"cannot read it: {error.strerror}"
    except ValueError:
        problem = "cannot read it: it is not UTF-8 text"
    raise ConfigError([Problem(path=(), text=problem)], source=_name(source))


def _parse(text: str, source: Path | None) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _PLACE.fullmatch(str(error))
        said = f"{found['place']}: {found['what']}" if found else str(error)
        problem = Problem(path=(), text=f"not valid TOML, {said}")
        raise ConfigError([problem], source=_name(source)) from error


def _name(source: Path | None) -> str:
    return str(source) if source else "the built-in config"
