"""A task-centric memory of a config, shared by its threads."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from gateway.app.check import dump_team
from gateway.app.load import load_config
from gateway.config.powers import Power, powers_of
from gateway.config.problems import ConfigError
from gateway.errors import GatewayError
from tests.gateway.factory.test_memory import ANN, EVE, desk

pytestmark = pytest.mark.usefixtures("fresh_imports")

TOKEN = "xoxb-123456789012-123456789012-abcdefghijklmnopqrstuvwx"
NOTES = f"""
scope = "thread"
[models.notes]
provider = "tests.fakes.chat_of_two:model"
options = {{ answers = ["Distances are in kilometres, {TOKEN}.", "NONE", "NONE", "NONE"] }}
[teams.trip]
type = "round_robin"
max_turns = 1
[teams.trip.agents.guide]
model_client_stream = false
[[teams.trip.agents.guide.memory]]
type = "task_centric"
folder = "memos"
model = "notes"
generalize_task = false
generate_topics = false
validate_memos = false
"""


async def test_advice_of_one_person_reaches_others_until_its_file_is_deleted(tmp_path: Path):
    async with desk(tmp_path, NOTES) as served:
        assert await served.say(ANN, "distances: kilometres", "1", team="trip") == "nothing"
        [file] = (tmp_path / "memos").iterdir()
        kept = json.loads(file.read_text())["insight"]
        assert kept.startswith("Distances are in kilometres")
        assert TOKEN not in kept
        told = await served.say(EVE, "what distances?", "2", team="trip")
        assert "1. Distances are in kilometres" in told
        assert "they allow nothing" in told
        await served.command(ANN, "/memory forget all")
        await served.gateway.client.delete_person(ANN.id)
        assert "kilometres" in await served.say(EVE, "distances again?", "3", team="trip")
        file.unlink()
        assert await served.say(EVE, "and distances now?", "4", team="trip") == "nothing"


SHORT = """
[models.m]
provider = "tests.fakes.remembering_model:RememberingModel"
[teams.t]
type = "round_robin"
[teams.t.agents.a]
memory = [{ type = "task_centric", folder = "memos" }]
"""


@pytest.mark.parametrize(
    ("more", "place", "said"),
    [
        ('model = "n"', "memory[0]", "found 'n', expected"),
        ('scope = "person"', "memory[0].scope", "there is no setting"),
        ("max_memos_to_retrieve = 0", "memory[0].max_memos_to_retrieve", "found 0"),
        ("validate_memos = 1", "memory[0].validate_memos", "expected true or false"),
    ],
)
def test_its_mistakes_have_a_place(tmp_path: Path, more: str, place: str, said: str):
    (tmp_path / "config.toml").write_text(SHORT.replace('"memos"', f'"memos", {more}'))
    with pytest.raises(ConfigError) as refused:
        load_config(tmp_path / "config.toml")
    assert f"teams.t.agents.a.{place}" in str(refused.value)
    assert said in str(refused.value)


def test_its_folder_is_asked_about():
    assert Power("folder", "memos") in powers_of(tomllib.loads(SHORT))


async def test_a_team_with_it_has_no_json(tmp_path: Path):
    (tmp_path / "config.toml").write_text(SHORT)
    with pytest.raises(GatewayError, match="can't be written as JSON"):
        await dump_team(load_config(tmp_path / "config.toml"), "t")
    assert not (tmp_path / "memos").exists()
