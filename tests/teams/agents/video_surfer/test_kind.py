"""Agents for videos as tables; tests/extras/video-surfer builds one."""

import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from gateway.app.load import load_config
from gateway.config.powers import Power, powers_of
from gateway.config.problems import ConfigError

CONFIG = """
[models.m]
provider = "tests.fakes.remembering_model:RememberingModel"
[teams.t]
type = "round_robin"
[teams.t.agents.eve]
type = "video_surfer"
folder = "."
"""


@pytest.mark.parametrize(
    ("folder", "place", "said"),
    [
        ("gone", "folder", "gone', expected a folder"),
        pytest.param(
            ".",
            "type",
            "pip install 'parley-gateway[video-surfer]'",
            marks=pytest.mark.skipif(find_spec("av") is not None, reason="it is here"),
        ),
    ],
)
def test_its_mistakes_have_a_place(tmp_path: Path, folder: str, place: str, said: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(CONFIG.replace('"."', f'"{folder}"'))
    with pytest.raises(ConfigError) as refused:
        load_config(path)
    assert f"teams.t.agents.eve.{place}" in str(refused.value)
    assert said in str(refused.value)


def test_it_is_asked_about() -> None:
    assert powers_of(tomllib.loads(CONFIG))[-2:] == [
        Power("address", "huggingface.co, for a model that hears"),
        Power("folder", "."),
    ]
