"""Apprentice, grader, recorder and page logger."""

from pathlib import Path

import pytest

from teams.agents import AssistantAgent
from teams.experimental.task_centric_memory import MemoryControllerConfig
from teams.experimental.task_centric_memory.utils import (
    Apprentice,
    ApprenticeConfig,
    ChatCompletionClientRecorder,
    PageLogger,
)
from teams.models import UserMessage
from teams.models.replay import ReplayChatCompletionClient
from tests.teams.experimental.task_centric_memory.scripted_tasks import plain

QUESTION = [UserMessage(content="How much is 6 times 7?", source="user")]


async def test_an_apprentice_learns_a_task(tmp_path: Path):
    client = ReplayChatCompletionClient(
        [
            "It is 13.",
            "13\nWRONG",
            "Times means multiplying.",
            "It is 42.",
            "42\nCORRECT",
            "It is 48.",
        ]
    )
    memory: MemoryControllerConfig = {**plain(tmp_path), "max_test_trials": 1}
    apprentice = Apprentice(client, {"MemoryController": memory})
    await apprentice.train_on_task("How much is 6 times 7?", "42")
    assert await apprentice.assign_task("How much is 6 times 8?") == "It is 48."
    assert "Times means multiplying." in client.create_calls[-1]["messages"][-1].content


async def test_an_apprentice_can_be_a_team(tmp_path: Path):
    done = '{"answer": true, "reason": "r"}'
    ledger = (
        f'{{"is_request_satisfied": {done}, "is_in_loop": {done}, '
        f'"is_progress_being_made": {done}, '
        '"next_speaker": {"answer": "apprentice", "reason": "r"}, '
        '"instruction_or_question": {"answer": "go", "reason": "r"}}'
    )
    client = ReplayChatCompletionClient(["facts", "plan", ledger, "It is 42."])
    config: ApprenticeConfig = {
        "name_of_agent_or_team": "MagenticOneGroupChat",
        "MemoryController": plain(tmp_path),
    }
    assert await Apprentice(client, config).assign_task("6 times 7?") == "It is 42."


def test_an_apprentice_of_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="AssistantAgent, MagenticOneGroupChat, not 'Human'"):
        Apprentice(ReplayChatCompletionClient([]), {"name_of_agent_or_team": "Human"})


@pytest.mark.parametrize("streams", [True, False])
async def test_a_recorded_session_is_played_back_without_its_model(tmp_path: Path, streams: bool):
    file = str(tmp_path / "sessions" / "one.json")
    texts: list[str] = []
    for mode in ("record", "replay"):
        client = ReplayChatCompletionClient(["It is 42.", "Still 42."] * (mode == "record"))
        recorder = ChatCompletionClientRecorder(client, mode, file)
        for _ in range(2):
            agent = AssistantAgent("al", recorder, model_client_stream=streams)
            result = await agent.run(task="How much is 6 times 7?")
            texts.append(result.messages[-1].to_text())
        recorder.finalize()
    assert texts == ["It is 42.", "Still 42."] * 2


async def test_a_play_back_takes_the_same_requests_all_of_them(tmp_path: Path):
    file = str(tmp_path / "one.json")
    recorder = ChatCompletionClientRecorder(ReplayChatCompletionClient(["42"]), "record", file)
    await recorder.create(QUESTION)
    recorder.finalize()
    player = ChatCompletionClientRecorder(ReplayChatCompletionClient(["43"]), "replay", file)
    with pytest.raises(ValueError, match="no answer to this request"):
        await player.create([UserMessage(content="And 6 times 8?", source="user")])
    with pytest.raises(ValueError, match=r"1 answers of .* were not asked for"):
        player.finalize()
    assert (await player.create(QUESTION)).cached
    player.finalize()


@pytest.mark.parametrize("config", [None, {"level": "NONE"}])
def test_without_a_level_nothing_is_written(tmp_path: Path, monkeypatch, config):
    monkeypatch.chdir(tmp_path)
    PageLogger(config).critical("fire")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_level_is_refused():
    with pytest.raises(ValueError, match="LOUD"):
        PageLogger({"level": "LOUD"})
