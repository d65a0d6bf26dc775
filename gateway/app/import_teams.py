"""`parley teams import`: AutoGen's team files as tables of config.toml."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path

from gateway.app.load import load_config
from gateway.app.trust import untrusted_config
from gateway.config.problems import ConfigError
from gateway.errors import GatewayError
from gateway.migrate.stubs import stub_module
from gateway.migrate.team_tables import Damaged, Imported, import_teams
from gateway.migrate.toml_text import toml_text


def know_kinds(config: Path | None) -> None:
    """Import the kinds that a trusted config names.

    Raises ConfigError for a chosen one.
    """
    if config:
        load_config(config, secrets=False)
    elif untrusted_config(None) is None:
        with suppress(ConfigError):
            load_config(secrets=False)


def read_teams(path: Path, output: Path | None) -> Imported:
    """The tables of the file and the report.

    Raises GatewayError for a file without a team or model.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise GatewayError(f"{path} can't be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise GatewayError(f"{path} can't be read as JSON: {error}") from error
    try:
        imported = import_teams(data, tools_module=_module(output or path))
    except Damaged as error:
        raise GatewayError(f"{path} is damaged: {error}.") from error
    except (RecursionError, ValueError) as error:
        raise GatewayError(f"{path} is no component file of AutoGen: {error}") from error
    if not imported.tables:
        raise GatewayError(f"{path} holds no team and no model that config.toml could have.")
    return imported


def write_teams(imported: Imported, source: Path, output: Path) -> list[Path]:
    """Write the TOML file, and functions for its tools beside it.

    Raises GatewayError rather than overwrite a file.
    """
    texts = {output: toml_text(imported.tables)}
    if imported.report.tools:
        stubs = output.with_name(f"{_module(output)}.py")
        texts[stubs] = stub_module([*imported.report.tools.values()], source.name)
    if there := [path for path in texts if path.exists() or path.is_symlink()]:
        raise GatewayError(f"{there[0]} already exists, so no file was written.")
    for path, text in texts.items():
        try:
            path.write_bytes(text.encode("utf-8", "replace"))
        except OSError as error:
            raise GatewayError(f"{path} can't be written: {error.strerror}.") from error
    return [*texts]


def report_text(imported: Imported) -> str:
    """All that was not taken, and what is left to do."""
    report = imported.report
    lines: list[str] = []
    if report.lost:
        lines += ["Not taken:", *(f"  {each}" for each in report.lost)]
    if report.todo:
        lines += ["Left to do:", *(f"  {each}" for each in dict.fromkeys(report.todo))]
    return "\n".join(lines)


def _module(path: Path) -> str:
    return f"{re.sub(r'[^A-Za-z0-9_]', '_', path.stem)}_tools"
