"""A damaged team file gives sound TOML, or one error."""

from __future__ import annotations

import copy
import json
import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.app.import_teams import read_teams, report_text
from gateway.errors import GatewayError
from gateway.migrate.stubs import stub_module
from gateway.migrate.toml_text import toml_text
from tests.gateway.migrate.gallery import GALLERY

ODD: list[Any] = [
    *(None, True, 1, -1.5, "x", "a\nb", '"""\\', "\x7f\x00", "\ud800", "é${x}", "http://[::1"),
    *([], {}, [1], {"a": None}, ["x", None, {"provider": "a", "config": {}}], float("nan")),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner: Any = enumerate(value) if isinstance(value, list) else ()
    for key, each in value.items() if isinstance(value, dict) else inner:
        yield (*path, key)
        yield from places(each, (*path, key))


def damaged(seed: int) -> Any:
    chance = random.Random(seed)
    gallery = copy.deepcopy(GALLERY)
    for _ in range(chance.randint(1, 3)):
        *way, last = chance.choice([*places(gallery)])
        inside: Any = gallery
        for key in way:
            inside = inside[key]
        inside[last] = copy.deepcopy(chance.choice(ODD))
    return gallery


@pytest.mark.chaos
def test_a_damaged_file_gives_sound_toml_or_one_error(tmp_path: Path) -> None:
    file = tmp_path / "team.json"
    taken = 0
    for seed in range(600):
        file.write_text(json.dumps(damaged(seed)))
        try:
            imported = read_teams(file, None)
        except GatewayError:
            continue
        taken += 1
        assert tomllib.loads(toml_text(imported.tables)), seed
        assert report_text(imported), seed
        compile(stub_module([*imported.report.tools.values()], file.name), str(seed), "exec")
    assert taken > 300
