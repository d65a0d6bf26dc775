"""Observation of a config: mistakes, powers, and teams as JSON and TOML.

`python -m tests.gateway.kinds.observed WHOLE.json` keeps what all configs of the repository do, for
the test that compares it with what they do later.
"""

from __future__ import annotations

import ast
import asyncio
import json
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from typing_extensions import override

from gateway.app.check import dump_team
from gateway.app.load import LoadedConfig, load_config
from gateway.base.imports import ImportPathError, Imports
from gateway.config.powers import powers_of
from gateway.config.problems import ConfigError
from gateway.errors import GatewayError
from gateway.factory.component_files import allow_line, needs_of
from gateway.migrate.team_tables import import_teams
from gateway.migrate.toml_text import toml_text
from teams.models import ModelInfo
from teams.models.replay import ReplayChatCompletionClient
from tests.gateway.config.test_broken import KINDS

ABLE: ModelInfo = {
    "vision": True,
    "function_calling": True,
    "json_output": True,
    "family": "unknown",
    "structured_output": True,
}
DATA = Path(__file__).parent / "data"
BEFORE = DATA / "before.json"
ROOT = Path(__file__).parents[3]
VARIABLES = {"OPENAI_API_KEY": "sk-1", "ANTHROPIC_API_KEY": "sk-2", "AZURE_OPENAI_API_KEY": "sk-3"}

_BLOCK = re.compile(r"^```toml.*?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class AnyImports(Imports):
    """Imports of ours, and a function in place of anything else."""

    @override
    def load(self, path: str) -> Any:
        if path.startswith(("teams.", "teams:", "gateway.")):
            return super().load(path)
        name = path.rpartition(":")[2]
        if not name.isidentifier():
            raise ImportPathError(f"found {path!r}")
        if name in ("Client", "model"):
            return lambda **_: ReplayChatCompletionClient(["Yes."], model_info=ABLE)

        def function(text: str) -> str:
            return text

        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"Stand for {path}."
        return function


def written_configs() -> Iterator[str]:
    """Each config of the repository: files, docs' blocks, tests' texts."""
    for path in sorted(ROOT.rglob("*.toml")):
        if not any(part.startswith(".") for part in path.relative_to(ROOT).parts):
            yield path.read_text()
    yield from json.loads((DATA / "small.json").read_text())
    for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]):
        yield from _BLOCK.findall(path.read_text())
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def is_config(text: str) -> bool:
    """True for TOML with a team or a model."""
    try:
        data = tomllib.loads(text)
    except ValueError:
        return False
    return "~" not in text and any(
        isinstance(data.get(key), dict) for key in ("teams", "models", "mcp")
    )


async def observe(text: str, folder: Path) -> dict[str, Any]:
    """All that the config does, without the name of its folder."""
    folder /= "place"
    folder.mkdir(exist_ok=True)
    source = folder / "config.toml"
    source.write_text(text)
    found: dict[str, Any] = {"powers": [[*map(str, (p.kind, p.what))] for p in _powers(text)]}
    try:
        load_config(source)
    except ConfigError as error:
        found["mistakes"] = str(error)
    try:
        loaded = load_config(source, references=False)
    except ConfigError:
        return _plain(found, folder)
    loaded = LoadedConfig(config=loaded.config, source=source, imports=AnyImports(folder))
    found["teams"] = {
        name: await _team(loaded, name) | {"definition": table.model_dump_json()}
        for name, table in loaded.config.teams.items()
    }
    return _plain(found, folder)


def _powers(text: str) -> list[Any]:
    return powers_of(tomllib.loads(text))


async def _team(loaded: LoadedConfig, name: str) -> dict[str, Any]:
    try:
        dump = await dump_team(loaded, name)
    except (GatewayError, LookupError) as error:
        return {"error": re.sub("RecursionError.*", "RecursionError", str(error))}
    component = json.loads(dump.text)
    try:
        imported = import_teams(component, tools_module="tools")
        tables: Any = tomllib.loads(toml_text(imported.tables))
        report = [sorted(imported.report.lost), sorted(imported.report.todo)]
    except ValueError as error:
        tables, report = str(error), []
    try:
        needs = allow_line(needs_of(component))
    except ValueError as error:
        needs = str(error)
    return {
        "dump": component,
        "notes": dump.notes,
        "toml": tables,
        "report": report,
        "needs": needs,
    }


def _plain(found: dict[str, Any], folder: Path) -> dict[str, Any]:
    text = json.dumps(found, sort_keys=True)
    places = {folder: "FOLDER", ROOT: "ROOT", Path(os.__file__).parent: "STDLIB"}
    for place, name in places.items():
        text = text.replace(str(place), name)
    return json.loads(text)


def digest(found: Any) -> str:
    """A short stand for a part of it."""
    return sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16]


def kept(found: dict[str, Any]) -> dict[str, Any]:
    """Its mistakes' words, without lists of kinds; digests of the rest."""
    teams = {name: digest(team) for name, team in found.get("teams", {}).items()}
    return {
        "mistakes": KINDS.sub(r"\1 ...", found.get("mistakes", "")),
        "powers": digest(found["powers"]),
        "teams": teams,
    }


async def record() -> list[dict[str, Any]]:
    """Keep what every config does now; in full where the argument says."""
    os.environ |= VARIABLES
    whole: list[dict[str, Any]] = []
    for text in dict.fromkeys(filter(is_config, written_configs())):
        with TemporaryDirectory() as folder:
            whole.append({"config": text, "does": await observe(text, Path(folder))})
    short = [{"config": each["config"], "does": kept(each["does"])} for each in whole]
    BEFORE.write_text(json.dumps(short, indent=0) + "\n")
    return whole


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(asyncio.run(record())))
