"""Messages that are deleted after the team has heard them."""

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest

from gateway.app.load import load_config
from gateway.config.settings import Attachments
from gateway.content.documents import Documents
from gateway.content.task import DELETED, INBOX, SIZES
from gateway.conversation import Attachment, Quote
from gateway.events import Notice
from gateway.factory.teams import TeamFactory
from gateway.gateway import Gateway, Limits
from gateway.sessions.deleted_words import without_deleted
from gateway.sessions.live_team import FORGETS
from gateway.store.records import Checkpoint, Thread
from gateway.store.turn_records import GoneMessage
from gateway.store.units import events as event_units
from gateway.store.units import gone as gone_units
from teams import RoundRobinGroupChat, Swarm
from teams.agents import AssistantAgent
from teams.conditions import HandoffTermination
from teams.core import Image
from teams.messages import TextMessage
from tests.fakes.new_store import new_store
from tests.gateway.content.test_task import png
from tests.gateway.journeys.test_conversable import MODEL, PARTS, TWO
from tests.gateway.journeys.test_edits import (
    ANN,
    BOB,
    BOSS,
    FILE,
    KEY,
    NOBODY,
    Everybody,
    Platform,
)
from tests.gateway.journeys.test_stopped import Held
from tests.gateway.scripted import calls, model, of, solo
from tests.gateway.sessions.test_team_change import Defined
from tests.pairwise import pairwise


class Desk(Platform):
    """A platform whose team never has to wait."""

    def __init__(self, folder, *answers, mode="queue", client=None, teams=None, **more) -> None:
        super().__init__(folder)
        self.client = client or model(*answers)
        self.teams = teams or Defined(lambda: solo(self.client))
        self.gateway = Gateway(new_store(folder), self.teams, access=Everybody(mode), **more)
        self.person = self.gateway.client
        self.turns = 0

    async def turn(self, number: str, text: str, author=ANN, **more):
        """A message and its whole turn; its receipt."""
        receipt = await self.say(number, text, author, **more)
        self.turns += 1
        await self.events(receipt.thread, self.turns)
        return receipt

    def sent(self) -> str:
        """All that the model was sent last."""
        return str(self.client.create_calls[-1]["messages"])

    async def saved(self, thread: str) -> bytes:
        """All that is kept of the team's state."""
        checkpoints = await self.gateway.store.run(event_units.checkpoints, thread)
        return b"".join(each.data for each in checkpoints)


@pytest.mark.parametrize("author", [ANN, BOSS, NOBODY], ids=["author", "operator", "unknown"])
async def test_the_words_of_a_deleted_message_are_told_no_more(tmp_path, author):
    async with Desk(tmp_path, "one", "two", "three", "four") as desk:
        thread = (await desk.turn("1", "the code is CANARY")).thread
        await desk.turn("2", "thanks")
        await desk.delete("1", author)
        await desk.turn("3", "what is the code?")
        assert DELETED in desk.sent()
        assert "CANARY" not in desk.sent()
        assert all(each in desk.sent() for each in ("one", "thanks", "two", "what is the code?"))
        assert b"CANARY" not in await desk.saved(thread)
        await desk.turn("4", "and now?")
        assert desk.teams.built == 2  # the team in memory goes on


async def test_nobody_else_makes_the_team_forget(tmp_path):
    async with Desk(tmp_path, "one", "two") as desk:
        await desk.turn("1", "the code is CANARY")
        await desk.delete("1", BOB)
        await desk.turn("2", "thanks", BOB)
    assert "CANARY" in desk.sent()


@pytest.mark.usefixtures("database")
async def test_of_several_messages_in_one_task_the_others_stay(tmp_path):
    async with Platform(tmp_path, "one", "two", "three", mode="collect") as platform:
        first = await platform.say("1", "a")
        await platform.door.reached.wait()
        await platform.say("2", "b of CANARY", attachments=(FILE,))
        await platform.say("3", "c", BOB)
        platform.door.open()
        await platform.events(first.thread, 2)
        assert "CANARY" in platform.told()[-1]
        await platform.delete("2")
        await platform.say("4", "d")
        await platform.events(first.thread, 3)
        told = platform.told()[1]
    assert told == f"[Ann \u00b7 xann]\n{DELETED}\n\n[Bob \u00b7 xbob]\nc"


PICTURE = Attachment(name="a.png", media_type="image/png", data=png())
GOES = {
    "text": {"text": "a of CANARY"},
    "file": {"text": "CANARY", "attachments": (replace(FILE, data=b"CANARY in a file"),)},
    "image": {"text": "CANARY", "attachments": (PICTURE, PICTURE)},
    "quote": {"text": "CANARY", "quotes": (Quote(text="CANARY", author="Eve"),)},
    "all": {"text": "", "attachments": (PICTURE,), "quotes": (Quote(text="CANARY"),)},
}
STAYS = {
    "text": {"text": "b"},
    "more": {
        "text": "b",
        "attachments": (FILE, PICTURE),
        "quotes": (Quote(text="Bo says so", author="Bo"),),
    },
}


# What the pairs leave out runs with the chaos tests.
@pairwise(
    handoff={"a task": False, "an answer to a handoff": True},
    first={"goes last": False, "goes first": True},
    goes=GOES,
    stays=STAYS,
)
async def test_what_came_with_the_others_in_its_task_stays(tmp_path, goes, stays, first, handoff):
    said = [("8", goes), ("9", stays)]
    await Documents().as_text([PICTURE], Attachments())  # it starts what decodes, before `collect`
    client = model(*[calls("transfer_to_user") if handoff else "one" for _ in range(3)])
    limits = Limits(collect=0.2)
    async with Desk(tmp_path, client=client, mode="collect", limits=limits) as desk:
        if handoff:
            desk.teams.make = lambda: Swarm(
                [AssistantAgent("solo", client, handoffs=["user"])],
                termination_condition=HandoffTermination("user"),
            )
        thread = (await desk.turn("1", "hello")).thread
        for number, what in said if first else said[::-1]:
            await desk.say(number, **what)
        desk.turns += 1
        await desk.events(thread, desk.turns)
        heard = parts_of(client)
        await desk.delete("8")
        await desk.turn("10", "well?")
        assert b"CANARY" not in await desk.saved(thread)
    left = parts_of(client)
    more = [each for each in ("Bo says so", "one", "IMAGE") if each != "one" or not handoff]
    assert "CANARY" not in left
    assert DELETED in left
    assert "b" in left.splitlines()
    assert len(stays) == 1 or all(each in left for each in more)
    assert left.count("IMAGE") == len(stays.get("attachments", ())[1:])
    assert heard.count("IMAGE") == left.count("IMAGE") + str(goes).count("image/png")


def parts_of(client) -> str:
    """All that the model was sent last, in lines."""
    contents = [each.content for each in client.create_calls[-1]["messages"]]
    parts = [part for each in contents for part in (each if isinstance(each, list) else [each])]
    return "\n".join("IMAGE" if isinstance(part, Image) else str(part) for part in parts)


THREAD = Thread(id="t", title="", team="demo", state="idle", updated_at=0.0, key=KEY)


@dataclass
class Gone:
    """A store of one thread, whose messages with these numbers are deleted."""

    numbers: tuple[int, ...]

    async def run(self, unit: Any, *arguments: Any) -> Any:
        assert unit is gone_units.gone_messages
        return [
            GoneMessage(inbox=each, first=each, message_id="", saved=True) for each in self.numbers
        ]


def agents() -> RoundRobinGroupChat:
    return RoundRobinGroupChat([AssistantAgent("solo", model("one"))], max_turns=1)


async def rewritten(team: RoundRobinGroupChat, *numbers: int) -> bytes:
    """The team's state without these messages."""
    store: Any = Gone(numbers)
    state = Checkpoint(kind="snapshot", data=await team.save_snapshot())
    return (await without_deleted(store, THREAD, [state])).data


SIZES_OF = {
    "two texts": ("0:1:0 0:1:0", "(This message was deleted.)\n\nb"),
    "another length": ("0:1:0 0:2:0", DELETED),
    "more texts": ("0:1:0 0:1:0 0:0:0", DELETED),
    "fewer texts": ("0:4:0", DELETED),
    "parts that are not there": ("1:1:0 0:1:0", DELETED),
}


@pytest.mark.parametrize(("sizes", "left"), SIZES_OF.values(), ids=SIZES_OF)
async def test_another_text_in_a_tasks_place_goes_as_a_whole(sizes: str, left: str):
    team, again = agents(), agents()
    metadata = {INBOX: "1 2", SIZES: sizes}
    await team.run(task=TextMessage(source="user", content="a\n\nb", metadata=metadata))
    await again.load_snapshot([await rewritten(team, 1)])
    assert json.dumps(await again.save_state()).count(json.dumps(left)[1:-1]) == 2
    assert b"\\n\\nb" not in await rewritten(again, 1, 2)


async def test_a_task_that_does_not_tell_whose_words_it_has_can_t_lose_some():
    team = agents()
    await team.run(task=TextMessage(source="user", content="a\n\nb", metadata={INBOX: "1 2"}))
    with pytest.raises(ValueError, match="which words are whose"):
        await rewritten(team, 2)
    assert b"\\n\\nb" not in await rewritten(team, 2, 1)


@pytest.mark.parametrize("files", [(FILE,), (PICTURE,), ()], ids=["text", "image", "none"])
async def test_its_files_and_quotes_go_with_it(tmp_path, files):
    quotes = () if files else (Quote(text="CANARY", author="Eve"),)
    async with Desk(tmp_path, "one", "two") as desk:
        await desk.turn("1", "look at CANARY", attachments=files, quotes=quotes)
        [_, heard] = desk.client.create_calls[-1]["messages"]
        assert len(heard.content) == 2
        await desk.delete("1")
        await desk.turn("2", "well?")
        _, heard, *_ = desk.client.create_calls[-1]["messages"]
    assert heard.content == DELETED


@pytest.mark.usefixtures("database")
async def test_what_it_was_before_an_edit_goes_with_it(tmp_path):
    async with Desk(tmp_path, "one", "two", "three") as desk:
        first = await desk.turn("1", "CANARY-1")
        await desk.edit("1", "CANARY-2")
        await desk.type(f"/again {first.inbox}")
        await desk.events(first.thread, 2)
        assert desk.sent().count("CANARY") == 2
        await desk.delete("1")
        await desk.say("2", "well?")
        await desk.events(first.thread, 3)
    assert "CANARY" not in desk.sent()


@pytest.mark.usefixtures("database")
async def test_a_restart_in_between_changes_nothing(tmp_path):
    client = model("one", "two", "three")
    async with Desk(tmp_path, client=client) as desk:
        await desk.turn("1", "the code is CANARY")
        await desk.delete("1")
    async with Desk(tmp_path, client=client) as desk:
        await desk.say("2", "well?")
        thread = (await desk.say("3", "and?")).thread
        await desk.events(thread, 3)
        assert b"CANARY" not in await desk.saved(thread)
    assert all("CANARY" not in str(each["messages"]) for each in client.create_calls[1:])


async def test_a_second_deletion_is_not_lost_behind_the_first(tmp_path):
    async with Desk(tmp_path, "one", "two", "three", "four") as desk:
        thread = (await desk.turn("1", "CANARY-1")).thread
        await desk.turn("2", "CANARY-2")
        await desk.delete("1")
        await desk.delete("2")
        await desk.turn("3", "well?")
        assert "CANARY" not in desk.sent()
        await desk.turn("4", "CANARY-4")
        await desk.delete("4")
        assert len(await desk.gateway.store.run(gone_units.gone_messages, thread)) == 3


async def test_a_new_team_is_not_told_them(tmp_path):
    async with Desk(tmp_path, "one", "two") as desk:
        await desk.turn("1", "the code is CANARY")
        await desk.turn("2", "thanks")
        await desk.delete("1")
    async with Desk(tmp_path, "three", "four") as desk:
        desk.teams.participants, desk.turns = ("another",), 2
        agent = AssistantAgent("another", desk.client)
        desk.teams.make = lambda: RoundRobinGroupChat([agent], max_turns=1)
        desk.teams.definition = "2"
        await desk.turn("3", "what is the code?")
        assert DELETED in desk.sent()
        assert "thanks" in desk.sent()
        assert "CANARY" not in desk.sent()
        await desk.delete("2")
        await desk.turn("4", "well?")
    assert "thanks" not in desk.sent()


@pytest.mark.usefixtures("fresh_imports")
async def test_a_team_that_does_not_keep_who_said_what_begins_anew(tmp_path):
    (tmp_path / "parts.py").write_text(PARTS)
    answers = json.dumps(["one", "two", "three", "four"])
    (tmp_path / "config.toml").write_text(TWO.replace("= 2", "= 1") + MODEL % answers)
    loaded = load_config(tmp_path / "config.toml")
    teams = TeamFactory(loaded.config, loaded.imports, start_folder=tmp_path)
    async with Desk(tmp_path / "store", teams=teams) as desk:
        thread = (await desk.turn("1", "the code is CANARY")).thread
        await desk.turn("2", "thanks")
        await desk.delete("1")
        await desk.turn("3", "what is the code?")
        assert b"CANARY" not in await desk.saved(thread)
        assert b"thanks" in await desk.saved(thread)
        await desk.say("4", "well?")
        events = await desk.events(thread, 4)
    told = [event.text for event in of(Notice, events)]
    assert told == [FORGETS]


async def test_what_was_heard_in_vain_is_not_told_after_its_deletion(tmp_path):
    """A turn that failed hands its message on to the next one."""
    async with Desk(tmp_path, client=model()) as desk:
        await desk.turn("1", "the code is CANARY")
        await desk.delete("1")
        desk.client = model("one")
        await desk.turn("2", "well?")
    assert "CANARY" not in desk.sent()


async def test_the_answer_to_a_handoff_goes_with_its_files(tmp_path):
    client = model(calls("transfer_to_user"), calls("transfer_to_user"), calls("transfer_to_user"))
    async with Desk(tmp_path, client=client) as desk:
        desk.teams.make = lambda: Swarm(
            [AssistantAgent("solo", client, handoffs=["user"])],
            termination_condition=HandoffTermination("user"),
        )
        await desk.turn("1", "a refund")
        await desk.turn("2", "the code is CANARY", attachments=(FILE,))
        assert "one" in desk.sent()
        await desk.delete("2")
        await desk.turn("3", "well?")
    assert "CANARY" not in desk.sent()
    assert "a.txt" not in desk.sent()


async def test_a_message_that_no_state_holds_yet_is_told_as_a_note(tmp_path):
    """Its turn was cut short before the team was saved."""
    first = Held("one", "two")
    async with Desk(tmp_path, client=first) as desk:
        first.door.open()
        await desk.turn("1", "hello")
    held = Held("two", "three")
    async with Desk(tmp_path, client=held, limits=Limits(shutdown=0.05)) as desk:
        thread = (await desk.say("2", "the code is CANARY")).thread
        await held.door.reached.wait()
        await desk.say("3", "thanks", BOB)
        await desk.delete("2")
    held.door.open()
    async with Desk(tmp_path, client=held) as desk:
        events = await desk.events(thread, 3)
    assert FORGETS not in [event.text for event in of(Notice, events)]
    assert "hello" in desk.sent()
    assert all("CANARY" not in str(each["messages"]) for each in held.create_calls)
