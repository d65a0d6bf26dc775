"""Learning from advice, demonstrations and failures."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from teams.experimental.task_centric_memory import MemoryController, MemoryControllerConfig
from teams.models.replay import ReplayChatCompletionClient

RIGHT, WRONG = "42\nCORRECT", "7\nWRONG"


class Worker:
    """Gives prepared responses, and keeps the tasks."""

    def __init__(self, *responses: str) -> None:
        self.responses = list(responses)
        self.tasks: list[str] = []

    async def __call__(self, task: str) -> tuple[str, str]:
        self.tasks.append(task)
        return self.responses[len(self.tasks) - 1], "I have guessed."


def plain(folder: Path, **settings: int) -> MemoryControllerConfig:
    """Settings with which the model neither rewrites nor chooses."""
    return {  # pyright: ignore[reportReturnType]
        "generalize_task": False,
        "generate_topics": False,
        "validate_memos": False,
        "MemoryBank": {"path": str(folder)},
        **settings,
    }


def asked(client: ReplayChatCompletionClient, number: int) -> str:
    return "\n".join(str(each.content) for each in client.create_calls[number]["messages"])


async def test_the_model_generalizes_finds_topics_and_chooses(tmp_path: Path):
    answers = ["Send goods", "- shipping\n- deliveries", "note taking"]
    client = ReplayChatCompletionClient(
        [*answers, *answers[:2], "1, and 12 too", "Paint", "painting"]
    )
    memory = MemoryController(True, client, config={"MemoryBank": {"path": str(tmp_path)}})
    assert await memory.retrieve_relevant_memos("Send Maria's parcel") == []
    assert client.create_calls == []  # nothing is known, so nothing is asked
    await memory.add_memo("Ring twice.", "Send Maria's parcel")
    (memo,) = await memory.retrieve_relevant_memos("Send Bob's parcel")
    assert memo.topics == ("shipping", "deliveries", "note taking")
    assert memo.task == "Send Maria's parcel"
    assert "Send Maria's parcel" in asked(client, 0)
    assert "Send goods" in asked(client, 1)
    assert "1. Ring twice." in asked(client, 5)
    assert await memory.retrieve_relevant_memos("Paint the fence") == []


async def test_memos_that_the_model_does_not_choose_are_left_out(tmp_path: Path):
    client = ReplayChatCompletionClient(["2", "NONE"])
    config = plain(tmp_path, validate_memos=True)
    memory = MemoryController(True, client, config=config)
    await memory.add_memo("Ring twice.", "Deliver parcels")
    await memory.add_memo("Wear gloves.", "Deliver parcels")
    found = await memory.retrieve_relevant_memos("Deliver parcels")
    assert [memo.insight for memo in found] == ["Wear gloves."]
    assert await memory.retrieve_relevant_memos("Deliver parcels") == []


async def test_no_more_memos_than_the_limit_are_retrieved(tmp_path: Path):
    config = plain(tmp_path, max_memos_to_retrieve=1)
    memory = MemoryController(True, ReplayChatCompletionClient([]), config=config)
    await memory.add_memo("Ring twice.", "Deliver parcels")
    await memory.add_memo("Wear gloves.", "Deliver parcels")
    assert len(await memory.retrieve_relevant_memos("Deliver parcels")) == 1


async def test_advice_is_kept_and_given_along_with_the_next_task(tmp_path: Path):
    client = ReplayChatCompletionClient(["Parcels go by tram.", "None."])
    worker = Worker("Sent.", "Sent again.", "Sent blindly.")
    memory = MemoryController(True, client, worker, plain(tmp_path))
    assert await memory.handle_user_message("Send parcels by tram, always.") == "Sent."
    assert await memory.handle_user_message("Send two parcels.") == "Sent again."
    assert await memory.assign_task("Send two parcels.", use_memory=False) == "Sent blindly."
    assert worker.tasks[1].startswith("Send two parcels.\n\nNotes from earlier work")
    assert "1. Parcels go by tram." in worker.tasks[1]
    assert worker.tasks[2] == "Send two parcels."


async def test_a_demonstration_is_recalled_with_its_task(tmp_path: Path):
    memory = MemoryController(True, ReplayChatCompletionClient([]), config=plain(tmp_path))
    await memory.add_task_solution_pair_to_memory("Square seven", "7 * 7 = 49")
    (memo,) = await memory.retrieve_relevant_memos("Square eight")
    assert memo.insight == "Task:\nSquare seven\n\nSolution:\n7 * 7 = 49"


async def test_training_keeps_the_insight_that_made_the_task_succeed(tmp_path: Path):
    learned = ["Count again.", "Multiply first."]
    client = ReplayChatCompletionClient([WRONG, learned[0], WRONG, learned[1], RIGHT, RIGHT, RIGHT])
    worker = Worker("7", "7", "42", "42")
    config = plain(tmp_path, max_test_trials=2)
    memory = MemoryController(True, client, worker, config)
    await memory.train_on_task("How much is 6 times 7?", "42")
    (memo,) = await memory.retrieve_relevant_memos("How much is 6 times 8?")
    assert memo.insight == "Multiply first."
    assert "I have guessed." in asked(client, 1)
    assert "Count again." in worker.tasks[1]
    assert "Multiply first." in worker.tasks[2]
    worker.responses.append("42")
    assert await memory.test_on_task("How much is 6 times 7?", "42") == ("42", 1, 1)


async def test_training_that_never_succeeds_keeps_nothing(tmp_path: Path):
    client = ReplayChatCompletionClient([WRONG, "Count.", WRONG, "Add."])
    memory = MemoryController(True, client, Worker("7", "7"), plain(tmp_path, max_train_trials=2))
    await memory.train_on_task("How much is 6 times 7?", "42")
    assert await memory.retrieve_relevant_memos("How much is 6 times 7?") == []


async def test_a_callback_that_is_not_async_works_too(tmp_path: Path):
    def work(task: str) -> tuple[str, str]:
        return f"Done: {task}", ""

    client = ReplayChatCompletionClient([])
    memory = MemoryController(True, client, work, plain(tmp_path))  # pyright: ignore[reportArgumentType]
    assert await memory.assign_task("Sing", should_await=False) == "Done: Sing"


async def test_without_a_callback_a_task_is_refused(tmp_path: Path):
    memory = MemoryController(True, ReplayChatCompletionClient([]), config=plain(tmp_path))
    with pytest.raises(ValueError, match="task_assignment_callback"):
        await memory.assign_task("Sing")


def test_an_unknown_setting_is_refused():
    config: MemoryControllerConfig = {"max_memos": 3}  # pyright: ignore[reportAssignmentType]
    with pytest.raises(ValidationError, match="max_memos"):
        MemoryController(False, ReplayChatCompletionClient([]), config=config)
