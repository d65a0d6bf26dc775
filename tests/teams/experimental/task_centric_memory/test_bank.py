"""Memos on the disk, and how they are found."""

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from teams.experimental.task_centric_memory import MemoryController, MemoryControllerConfig
from teams.models.replay import ReplayChatCompletionClient


def controller(folder: Path, *masks: Callable[[str], str], **bank: float) -> MemoryController:
    """A memory that asks no model."""
    config: MemoryControllerConfig = {
        "generalize_task": False,
        "generate_topics": False,
        "validate_memos": False,
        "MemoryBank": {"path": str(folder), **bank},  # pyright: ignore[reportAssignmentType]
    }
    client = ReplayChatCompletionClient([])
    return MemoryController(False, client, config=config, masked=(*masks, str)[0])


async def found(memory: MemoryController, task: str) -> list[str]:
    return [memo.insight for memo in await memory.retrieve_relevant_memos(task)]


async def test_a_memo_is_found_by_the_words_of_its_task_the_best_first(tmp_path: Path):
    memory = controller(tmp_path)
    await memory.add_memo("Send it by tram.", "Deliver parcels in Vienna", index_on_both=False)
    await memory.add_memo("Ring twice.", "Delivering a parcel to Maria", index_on_both=False)
    await memory.add_memo("Use SI units.", "Convert temperatures", index_on_both=False)
    assert await found(memory, "Deliver a parcel in Vienna") == ["Send it by tram.", "Ring twice."]
    assert await found(memory, "Paint the fence") == []


async def test_a_memo_is_found_by_the_words_of_its_insight_if_it_is_filed_under_both(
    tmp_path: Path,
):
    memory = controller(tmp_path)
    await memory.add_memo("Oranges need sunshine.", "Gardening")
    await memory.add_memo("Lemons need sunshine.", "Gardening", index_on_both=False)
    assert await found(memory, "Where do oranges like sunshine?") == ["Oranges need sunshine."]


async def test_words_of_languages_without_spaces_count(tmp_path: Path):
    memory = controller(tmp_path)
    await memory.add_memo("三行で書く", "論文を要約する")
    assert await found(memory, "論文を要約してください") == ["三行で書く"]


@pytest.mark.parametrize(
    "limit",
    [{"relevance_conversion_threshold": 0.1}, {"distance_threshold": 0.1}, {"n_results": 0}],
)
async def test_the_bank_s_limits_leave_memos_out(tmp_path: Path, limit: dict[str, float]):
    await controller(tmp_path).add_memo("Ring twice.", "Deliver parcels")
    assert await found(controller(tmp_path), "Deliver a letter") == ["Ring twice."]
    assert await found(controller(tmp_path, **limit), "Deliver a letter") == []


async def test_memos_are_json_files_that_each_memory_of_the_folder_sees(tmp_path: Path):
    one, other = controller(tmp_path / "bank"), controller(tmp_path / "bank")
    await one.add_memo("Ring twice.", "Deliver parcels")
    await one.add_memo("Ring twice.", "Deliver parcels")
    (file,) = (tmp_path / "bank").iterdir()
    assert json.loads(file.read_text())["insight"] == "Ring twice."
    assert await found(other, "Deliver parcels") == ["Ring twice."]
    other.reset_memory()
    assert await found(one, "Deliver parcels") == []


async def test_a_damaged_memo_costs_only_itself(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    memory = controller(tmp_path)
    await memory.add_memo("Ring twice.", "Deliver parcels")
    torn = f"{'a' * 64}.json"
    (tmp_path / torn).write_text('{"task": "Deliver')
    assert await found(memory, "Deliver parcels") == ["Ring twice."]
    assert f"{torn} can't be read" in caplog.text


async def test_other_files_of_the_folder_are_no_memos_and_stay(tmp_path: Path):
    memory, bank = controller(tmp_path / "bank"), tmp_path / "bank"
    await memory.add_memo("Ring twice.", "Deliver parcels")
    (file,) = bank.iterdir()
    (bank / "team.json").write_text(file.read_text())
    assert await found(memory, "Deliver parcels") == ["Ring twice."]
    memory.reset_memory()
    assert [each.name for each in bank.iterdir()] == ["team.json"]


async def test_threads_write_and_read_at_once(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    def learn(number: int) -> list[str]:
        memory = controller(tmp_path / "bank")
        asyncio.run(memory.add_memo(f"Ring {number} times.", "Deliver parcels"))
        return asyncio.run(found(memory, "Deliver parcels"))

    with ThreadPoolExecutor(8) as workers:
        seen = list(workers.map(learn, range(40)))
    assert all(seen)
    assert len([*(tmp_path / "bank").iterdir()]) == 40
    assert caplog.text == ""


async def test_a_memo_is_kept_as_it_is_masked(tmp_path: Path):
    memory = controller(tmp_path / "bank", lambda text: text.replace("hunter2", "***"))
    await memory.add_memo("The word is hunter2.", "Tell hunter2")
    (file,) = (tmp_path / "bank").iterdir()
    kept = json.loads(file.read_text())
    assert (kept["insight"], kept["task"]) == ("The word is ***.", "Tell ***")
    assert "hunter2" not in file.read_text()
