"""Edits and deletions of messages on the platform."""

import pytest

from gateway.access.authority import Access, Admission
from gateway.conversation import Attachment, Author, AwaitedFile, ConversationKey, InboundMessage
from gateway.events import (
    MessageFinished,
    MessageQueued,
    MessageWithdrawn,
    Notice,
    TurnFinished,
    TurnStarted,
)
from gateway.gateway import Gateway
from gateway.registry import ToolRule
from gateway.store.units import counts as count_units
from tests.fakes.new_store import new_store
from tests.gateway.scripted import Door, ScriptedTeams, calls, ends, model, of, solo, until

ANN, BOB = Author(id="x:ann", name="Ann"), Author(id="x:bob", name="Bob")
BOSS, NOBODY = Author(id="x:boss", name="Boss"), Author(id="")
KEY = ConversationKey(platform="x", workspace="T1", channel="C1", root="1")
FILE = Attachment(name="a.txt", media_type="text/plain", data=b"one")


class Everybody(Access):
    def __init__(self, mode) -> None:
        super().__init__([BOSS.id])
        self.mode = mode

    def judge(self, message):
        return Admission(mode=self.mode)


class Platform:
    """People of a platform with numbered messages, and a waiting team."""

    def __init__(self, folder, *answers, mode="queue") -> None:
        self.door = Door()
        self.client = model(calls("wait"), *answers)
        self.teams = ScriptedTeams(lambda: solo(self.client, tools=[self.wait]))
        self.gateway = Gateway(new_store(folder), self.teams, access=Everybody(mode))
        self.person = self.gateway.client
        self._edits = 0

    async def wait(self) -> str:
        """Wait."""
        await self.door.pass_through()
        return "ok"

    async def __aenter__(self):
        await self.gateway.__aenter__()
        return self

    async def __aexit__(self, *error):
        await self.gateway.__aexit__(*error)

    async def say(self, number: str, text: str, author: Author = ANN, **more):
        dedupe = (KEY.dedupe("create", number),)
        return await self.gateway.accept(
            InboundMessage(
                key=KEY, author=author, text=text, message_id=number, dedupe=dedupe, **more
            )
        )

    async def edit(self, number: str, text: str, author: Author = ANN, key=KEY, **more):
        self._edits += 1
        dedupe = (KEY.dedupe("edit", number, str(self._edits)),)
        return await self.gateway.accept(
            InboundMessage(
                key=key,
                author=author,
                event="edit",
                text=text,
                message_id=number,
                dedupe=dedupe,
                **more,
            )
        )

    async def delete(self, number: str, author: Author = ANN, key=KEY):
        dedupe = (KEY.dedupe("delete", number),)
        return await self.gateway.accept(
            InboundMessage(key=key, author=author, event="delete", message_id=number, dedupe=dedupe)
        )

    async def type(self, text: str, author: Author = ANN):
        return await self.gateway.accept(InboundMessage(key=KEY, author=author, text=text))

    async def events(self, thread: str, turns: int):
        """The thread's events to the end of so many turns."""
        seen: list = []
        left = turns

        def over(event) -> bool:
            nonlocal left
            left -= isinstance(event, TurnFinished)
            return not left

        seen += await until(self.person, thread, over)
        return seen

    async def found(self, text: str):
        return await self.gateway.client.threads(search=text)

    def told(self) -> list[str]:
        """The people's texts in the model's last call."""
        messages = self.client.create_calls[-1]["messages"]
        return [str(part.content) for part in messages if part.type == "UserMessage"]


def texts(events) -> list[str]:
    return [message.text for event in of(TurnStarted, events) for message in event.messages]


async def test_a_waiting_message_is_what_its_author_has_made_of_it(tmp_path):
    async with Platform(tmp_path, "one", "two") as platform:
        thread = (await platform.say("1", "a")).thread
        await platform.door.reached.wait()
        queued = await platform.say("2", "b", attachments=(FILE,))
        edited = await platform.edit("2", "b, no: c")
        twice = await platform.edit("2", "b, no: c")
        platform.door.open()
        events = await platform.events(thread, 2)
        counts = await platform.gateway.store.run(count_units.counts)
    assert (edited.outcome, twice.outcome, twice.inbox) == ("merged", "refused", 0)
    assert [
        (e.message.inbox, e.message.text, e.message.files) for e in of(MessageQueued, events)
    ] == [
        (queued.inbox, "b", (FILE.name,)),
        (queued.inbox, "b, no: c", ()),
    ]
    assert texts(events) == ["a", "b, no: c"]
    assert platform.told()[-1] == "b, no: c"  # the file is gone with the edit
    assert counts.inbox == {"turn": 2, "merged": 1}


async def test_an_edit_that_changes_only_files_counts_and_one_that_changes_nothing_does_not(
    tmp_path,
):
    async with Platform(tmp_path, "one", "two") as platform:
        thread = (await platform.say("1", "a")).thread
        await platform.door.reached.wait()
        await platform.say("2", "b", attachments=(FILE,))
        same = await platform.edit("2", "b", attachments=(FILE,))  # a link preview, say
        more = Attachment(name="b.txt", media_type="text/plain", data=b"CANARY")
        changed = await platform.edit("2", "b", attachments=(FILE, more))
        platform.door.open()
        await platform.events(thread, 2)
    assert (same.outcome, changed.outcome) == ("refused", "merged")
    assert "CANARY" in platform.told()[-1]


@pytest.mark.parametrize("author", [ANN, BOSS, NOBODY], ids=["author", "operator", "unknown"])
async def test_a_waiting_message_that_is_deleted_is_withdrawn(tmp_path, author):
    async with Platform(tmp_path, "one", "never") as platform:
        thread = (await platform.say("1", "a")).thread
        await platform.door.reached.wait()
        queued = await platform.say("2", "CANARY-TEXT")
        deleted = await platform.delete("2", author)
        again = await platform.delete("2", author)
        platform.door.open()
        events = await platform.events(thread, 1)
        found = await platform.gateway.client.threads(search="CANARY-TEXT")
    assert (deleted.outcome, again.inbox) == ("merged", deleted.inbox)
    assert [event.inbox for event in of(MessageWithdrawn, events)] == [queued.inbox]
    assert texts(events) == ["a"]
    assert len(of(TurnStarted, events)) == 1
    assert found == []


async def test_nobody_changes_what_is_not_theirs_or_was_never_taken(tmp_path):
    elsewhere = ConversationKey(platform="x", workspace="T1", channel="C2", root="1")
    async with Platform(tmp_path, "one", "two") as platform:
        thread = (await platform.say("1", "a")).thread
        await platform.door.reached.wait()
        await platform.say("2", "b")
        await platform.type("/status")
        receipts = [
            await platform.edit("2", "mine now", BOB),
            await platform.delete("2", BOB),
            await platform.edit("2", "in another channel", key=elsewhere),
            await platform.delete("9", ANN),
            await platform.edit("", "of nothing", ANN),
        ]
        before = (await platform.gateway.store.run(count_units.counts)).inbox
        platform.door.open()
        events = await platform.events(thread, 2)
    assert {(receipt.outcome, receipt.inbox, receipt.reply) for receipt in receipts} == {
        ("refused", 0, "")
    }
    assert before == {"turn": 1, "queued": 1, "command": 1}
    assert texts(events) == ["a", "b"]


async def test_an_edit_of_a_message_in_its_channel_is_found_from_the_channel_itself(tmp_path):
    """The thread's first message stands outside it, as its edit says."""
    channel = ConversationKey(platform="x", workspace="T1", channel="C1", root="other")
    async with Platform(tmp_path, "one", "two") as platform:
        thread = (await platform.say("1", "a")).thread
        await platform.door.reached.wait()
        assert (await platform.edit("1", "a!", key=channel)).outcome == "merged"
        platform.door.open()
        events = await platform.events(thread, 1)
    assert [event.command for event in of(Notice, events)] != []


@pytest.mark.parametrize("when", ["running", "finished"])
async def test_what_the_team_has_already_can_be_run_again_once_as_it_is_now(tmp_path, when):
    async with Platform(tmp_path, "one", "two", "three") as platform:
        first = await platform.say("1", "a")
        await platform.door.reached.wait()
        if when == "finished":
            platform.door.open()
            await platform.events(first.thread, 1)
        await platform.edit("1", "b")
        await platform.edit("1", "c", attachments=(FILE,))
        stranger = await platform.type(f"/again {first.inbox}", BOB)
        again = await platform.type(f"/again {first.inbox}")
        twice = await platform.type(f"/again {first.inbox}")
        platform.door.open()
        events = await platform.events(first.thread, 2)
    offers = [event for event in of(Notice, events) if event.command]
    assert [(offer.command, offer.label) for offer in offers] == [
        (f"/again {first.inbox}", "Run it again")
    ]
    assert stranger.reply == "That message is not yours."
    assert again.outcome == ("queued" if when == "running" else "turn")
    assert twice.reply.startswith("This message can't run again")
    assert texts(events) == ["a", "c"]
    assert "one" in platform.told()[-1]  # the contents of the file
    assert [event.text for event in of(MessageFinished, events)] == ["one", "two"]


async def test_an_edit_of_the_text_alone_leaves_the_files_as_they_are(tmp_path):
    awaited = AwaitedFile(name="b.txt", media_type="text/plain")
    late = Attachment(name="b.txt", media_type="text/plain", data=b"late")
    async with Platform(tmp_path, "first", "second", "third", "fourth") as platform:
        first = await platform.say("1", "a")
        await platform.door.reached.wait()
        waiting = await platform.say("2", "b", awaited=(awaited,))
        await platform.edit("2", "bb", keeps_files=True)
        await platform.gateway.files.bring_files(waiting.inbox, [late], [])
        await platform.edit("2", "bbb", keeps_files=True)
        await platform.edit("1", "c", attachments=(FILE,))
        same = await platform.edit("1", "c", keeps_files=True)
        await platform.edit("1", "d", keeps_files=True)
        await platform.type(f"/again {first.inbox}")
        platform.door.open()
        events = await platform.events(first.thread, 3)
        assert texts(events) == ["a", "bbb", "d"]
        assert "late" in platform.told()[-2]
        assert "one" in platform.told()[-1]
        await platform.edit("2", "e", keeps_files=True)
        await platform.type(f"/again {waiting.inbox}")
        events = await platform.events(first.thread, 4)
    assert same.inbox == 0
    assert texts(events)[-1] == "e"
    assert "late" in platform.told()[-1]


async def test_an_edit_keeps_those_files_that_its_message_still_has(tmp_path):
    one, two = (
        Attachment(name=name, media_type="text/plain", data=name.encode())
        for name in ("one.txt", "two.txt")
    )
    kept = AwaitedFile(name="two.txt", media_type="text/plain", size=two.size)
    both = (AwaitedFile(name="one.txt", media_type="text/plain", size=one.size), kept)
    async with Platform(tmp_path, "first", "second", "third") as platform:
        first = await platform.say("1", "a")
        await platform.door.reached.wait()
        await platform.say("2", "b", attachments=(one, two))
        same = await platform.edit("2", "b", awaited=both)
        await platform.edit("2", "b", awaited=(kept,))
        await platform.edit("1", "c", attachments=(one, two))
        await platform.edit("1", "c", awaited=(kept,))
        await platform.type(f"/again {first.inbox}")
        platform.door.open()
        events = await platform.events(first.thread, 3)
    assert same.inbox == 0
    assert texts(events) == ["a", "b", "c"]
    for told in platform.told()[-2:]:
        assert "two.txt" in told
        assert "one.txt" not in told


async def test_what_was_run_again_can_be_edited_again(tmp_path):
    async with Platform(tmp_path, "one", "two", "three") as platform:
        platform.door.open()
        first = await platform.say("1", "a")
        await platform.events(first.thread, 1)
        await platform.edit("1", "b")
        second = await platform.type(f"/again {first.inbox}", BOSS)
        await platform.events(first.thread, 2)
        await platform.edit("1", "c")
        await platform.type(f"/again {second.inbox}")
        events = await platform.events(first.thread, 3)
    assert texts(events) == ["a", "b", "c"]
    assert {message.author for e in of(TurnStarted, events) for message in e.messages} == {"Ann"}


async def test_deleting_what_the_team_works_on_is_told_and_what_it_is_done_with_is_not(tmp_path):
    async with Platform(tmp_path, "one") as platform:
        thread = (await platform.say("1", "a")).thread
        await platform.door.reached.wait()
        await platform.type("/status", BOB)
        assert (await platform.delete("1")).outcome == "merged"
        platform.door.open()
        events = await platform.events(thread, 1)
        before = (await platform.person.thread(thread)).last_seq
        await platform.delete("1", BOSS)
        after = (await platform.person.thread(thread)).last_seq
    assert [(event.command, event.label) for event in of(Notice, events)] == [("/stop", "Stop")]
    assert before == after


async def test_deleting_one_of_two_messages_that_the_team_works_on_is_told(tmp_path):
    async with Platform(tmp_path, calls("wait"), "one", mode="steer") as platform:
        thread = (await platform.say("1", "a")).thread
        await platform.door.reached.wait()
        await platform.say("2", "b")
        first, platform.door = platform.door, Door()
        first.open()
        await platform.door.reached.wait()
        await platform.delete("1")
        platform.door.open()
        events = await platform.events(thread, 1)
    assert "b" in str(platform.told())
    assert [event.command for event in of(Notice, events)] == ["/stop"]
    assert [event.outcome for event in of(TurnFinished, events)] == ["done"]


@pytest.mark.parametrize("author", [ANN, BOSS, NOBODY], ids=["author", "operator", "unknown"])
async def test_a_question_deleted_during_its_answer_ends_that_where_nobody_else_takes_part(
    tmp_path, author
):
    async with Platform(tmp_path, "one", "two", "three") as platform:
        first = await platform.say("1", "a")
        await platform.door.reached.wait()
        await platform.say("2", "b")
        await platform.edit("1", "a, rather")
        deleted = await platform.delete("1", author)
        events = await platform.events(first.thread, 1)
        platform.door.open()
        events += await until(platform.person, first.thread, ends, after=events[-1].seq)
    ended = of(TurnFinished, events)
    assert deleted.outcome == "merged"
    assert (ended[0].outcome, ended[0].reason) == ("stopped", "its message was deleted")
    assert ended[-1].outcome == "done"
    assert "/stop" not in [event.command for event in of(Notice, events)]


async def test_a_question_deleted_while_the_team_asks_ends_its_turn(tmp_path):
    async with Platform(tmp_path, "never") as platform:
        platform.teams.rule_of_others = ToolRule(action="ask")
        thread = (await platform.say("1", "a")).thread
        await until(platform.person, thread, ends)
        await platform.delete("1", NOBODY)
        events = await platform.events(thread, 2)
    assert [event.outcome for event in of(TurnFinished, events)] == ["waiting", "stopped"]


async def test_what_was_edited_since_or_deleted_is_not_kept(tmp_path):
    async with Platform(tmp_path, "one", "never") as platform:
        platform.door.open()
        first = await platform.say("1", "a")
        await platform.events(first.thread, 1)
        for text in ("CANARY-1", "CANARY-2"):
            await platform.edit("1", text)
        assert [len(await platform.found(f"CANARY-{n}")) for n in (1, 2)] == [0, 1]
        await platform.delete("1")
        again = await platform.type(f"/again {first.inbox}")
        assert await platform.found("CANARY-2") == []
    assert again.reply.startswith("This message can't run again")


async def test_edits_of_answers_and_commands_change_nothing(tmp_path):
    async with Platform(tmp_path, "one") as platform:
        thread = (await platform.say("1", "a")).thread
        await platform.door.reached.wait()
        await platform.say("2", "/status")
        assert (await platform.edit("2", "/stop")).outcome == "refused"
        platform.door.open()
        events = await until(platform.person, thread, ends)
    assert events[-1].outcome == "done"
