"""Forks of threads, as rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.conversation import Attachment, ConversationKey
from gateway.errors import NotFound
from gateway.events import MessageFinished, Notice, ThreadRenamed, ToolStarted, TurnStarted
from gateway.outbox import OutboxRow
from gateway.store.decisions import PersonLimits
from gateway.store.records import CallRow, Checkpoint
from gateway.store.turn_records import TurnUpdate
from gateway.store.units import deletion, events, forks, heard, outbox, threads
from gateway.store.units.invariants import broken_laws
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import rows_of
from tests.gateway.store.talk import ANN, BOB, KEY, approval, begin, begun, end, take

IN_FORK = "SELECT id, author, text, untrusted FROM inbox WHERE thread = 'f' ORDER BY id"
ORIGIN_OF_2 = "This thread is a fork of '1', from the end of its turn 2 of 2."
ORIGIN = "This thread is a fork of 'one', from the end of its turn 2 of 3."
MEMO = (
    "INSERT INTO memos (call, team, scope, key, person, name, thread, text, at)"
    " VALUES (:text, 'demo', 'thread', 't', 'p', 'P', 't', :text, :at)"
)
GRANT = (
    "INSERT INTO grants (thread, tool, person, granted_by, granted_at, scope)"
    " VALUES (:thread, 'web', 'p', 'p', 1.0, '')"
)
pytestmark = pytest.mark.usefixtures("database")

HERE = ConversationKey.local("t")


def asking(work: Any, call: CallRow) -> TurnUpdate:
    return TurnUpdate(calls=(call,), requests=(approval(work),))


def snapshot(data: str) -> Checkpoint:
    return Checkpoint(kind="snapshot", data=data.encode())


def delta(data: str) -> Checkpoint:
    return Checkpoint(kind="delta", data=data.encode())


async def turn(store: Any, text: str, *states: Checkpoint, **more: Any) -> None:
    work = await begun(store, text, key=HERE, **more)
    said = MessageFinished(thread="t", turn=work.lease.turn, agent="a", message=text, text=text)
    await end(store, work, events=(said,), checkpoints=states)


async def forked(store: Any, back: int = 0, new: str = "f") -> Any:
    n = await store.run(forks.fork_point, "t", back)
    return await store.run(forks.fork, "t", n, new, folder=True)


async def state(store: Any, thread: str = "f") -> str:
    found = await store.run(events.checkpoints, thread)
    return " ".join(each.data.decode() for each in found)


async def test_a_fork_has_what_was_said_up_to_then(tmp_path: Path):
    store = new_store(tmp_path)
    async with store.own():
        await turn(store, "one", snapshot("1"))
        file = Attachment(name="a.txt", media_type="text/plain", data=b"theirs")
        await turn(store, "two", delta("2"), author=BOB, attachments=[file])
        await turn(store, "three", delta("3"))
        await take(store, "waits", key=HERE)
        made = await forked(store, back=1)
        told = await store.run(events.events, "f")
        assert made.key == ConversationKey.local("f")
        assert (made.state, made.last_seq) == ("idle", len(told))
        assert [each.seq for each in told] == [*range(1, len(told) + 1)]
        texts = [each.text for each in told if isinstance(each, MessageFinished | Notice)]
        assert texts == ["one", "two", ORIGIN]
        asked = [each.messages[0] for each in told if isinstance(each, TurnStarted)]
        inbox = await rows_of(store, IN_FORK)
        assert [(each.inbox, each.text) for each in asked] == [(i, text) for i, _, text, _ in inbox]
        assert [who for _, who, *_ in inbox] == [ANN.id, BOB.id]
        assert [bool(foreign) for *_, foreign in inbox] == [False, True]
        assert await rows_of(store, "SELECT attached FROM threads WHERE id = 'f'") == [(6,)]
        assert await store.read(broken_laws) == []


async def test_a_fork_begins_with_the_state_at_the_end_of_its_turn(tmp_path: Path):
    store = new_store(tmp_path)
    async with store.own():
        await turn(store, "one", snapshot("1"))
        await turn(store, "two", delta("2"), delta("3"))
        await turn(store, "three", snapshot("4"), delta("5"))
        await turn(store, "four", delta("6"))
        for back, known in enumerate(["4 5 6", "4 5", "1 2 3", "1"]):
            await forked(store, back, f"f{back}")
            assert await state(store, f"f{back}") == known
        assert await state(store, "t") == "4 5 6"
        assert await store.read(broken_laws) == []


async def test_a_fork_knows_whom_its_team_has_heard_and_what_it_noted_and_has_no_grant(
    tmp_path: Path,
):
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store, "go", key=HERE)
        ended: Any = {"status": "finished", "result": "{}"}
        call = CallRow(key="k", agent=("a",), tool="web", arguments_hash="", **ended)
        await store.record(work.lease, asking(work, call))
        await store.write(lambda c: c.execute(GRANT, {"thread": "t"}))
        await store.write(lambda c: c.execute(MEMO, {"text": "of then", "at": 0.0}))
        await store.write(lambda c: c.execute(MEMO, {"text": "later", "at": 1e12}))
        await end(store, work, checkpoints=(snapshot("1"),))
        await forked(store)
        noted = await rows_of(store, "SELECT key, text FROM memos WHERE thread = 'f'")
        assert noted == [("f", "of then")]
        known, own = await store.run(heard.context, "f"), await store.run(heard.context, "t")
        assert known == own
        assert [*known.outputs] == ["web"]
        assert await rows_of(store, "SELECT * FROM grants WHERE thread = 'f'") == []
        requests = await rows_of(store, "SELECT state FROM requests WHERE thread = 'f'")
        assert requests == [("closed",)]


async def call(store: Any, n: int, arguments: str, **more: Any) -> None:
    """A turn with a call of a tool."""
    work = await begun(store, "go", key=HERE)
    of: Any = {"thread": "t", "turn": work.lease.turn, "agent": "a"}
    told = ToolStarted(**of, call=f"agent {n}", tool="mail", arguments=arguments)
    ran: Any = {"status": "finished", "result": "{}"} | more
    row = CallRow(key=f"agent {n}", agent=("a",), tool="mail", arguments_hash="", **ran)
    await store.record(work.lease, TurnUpdate(calls=(row,), events=(told,)))
    await end(store, work, checkpoints=(delta("2"),))


async def origin(store: Any, new: str) -> list[str]:
    *_, told = [each for each in await store.run(events.events, new) if isinstance(each, Notice)]
    return told.text.splitlines()[1:]


CALLS = (
    ('{"to": "ann"}', "mail ann"),
    ('{"to": "ann", "cc": ["bob"]}', "mail to=ann cc=['bob']"),
    (
        r'{"text": "\u001b]0;x\u0007 \u001b[31mred \ud800\u202e"}',
        "mail ⟨U+001B⟩]0;x⟨U+0007⟩ ⟨U+001B⟩[31mred ⟨U+D800⟩⟨U+202E⟩",
    ),
    ('{"text": "[bold]a[/] <@U1>\\n- `mail` *b*"}', "mail [bold]a[/] <@U1> - `mail` *b*"),
    ("not\njson", "mail not json"),
    ("{}", "mail"),
    ('{"text": "' + "x" * 9_000 + '"}', "mail " + "x" * 199 + "…"),
)


async def test_a_fork_lists_the_calls_that_it_does_not_undo(tmp_path: Path):
    store = new_store(tmp_path)
    async with store.own():
        await turn(store, "one", snapshot("1"))
        for n, (arguments, _) in enumerate(CALLS):
            await call(store, n, arguments)
        await call(store, len(CALLS), '{"to": "never"}', status="shown", result=None)
        listed = [f"- {line}" for _, line in CALLS]
        await forked(store, back=len(CALLS) + 1)
        assert await origin(store, "f") == listed
        await forked(store, new="g")
        assert await origin(store, "g") == []
        for new, of in (("h", "g"), ("i", "h")):  # forks know the calls of what they are forks of
            await store.run(forks.fork, of, len(CALLS) + 2, new, folder=True)
        await store.run(forks.fork, "i", 1, "j", folder=True)
        assert (await origin(store, "j")) == listed


async def test_of_many_calls_the_first_are_listed(tmp_path: Path):
    store = new_store(tmp_path)
    async with store.own():
        await turn(store, "one", snapshot("1"))
        for n in range(forks.MOST_CALLS + 2):
            await call(store, n, f'{{"n": {n}}}')
        await forked(store, back=forks.MOST_CALLS + 2)
        assert await origin(store, "f") == [
            *(f"- mail {n}" for n in range(forks.MOST_CALLS)),
            "- and 2 more",
        ]


async def test_a_platform_is_told_the_tools_alone(tmp_path: Path):
    store = new_store(tmp_path)
    async with store.own():
        await turn(store, "one", snapshot("1"))
        for n in range(2):
            await call(store, n, '{"to": "secret"}')

        def begin(connection: Any) -> Any:
            key = KEY.fork("f")
            return forks.begin_fork(connection, "t", 1, "f", folder=True, key=key, by=ANN.id)

        (told,) = await store.write(begin)
        assert told.text.endswith("is not undone: mail (2).")


async def test_only_states_that_are_kept_can_be_forked_from(tmp_path: Path):
    store = new_store(tmp_path)
    async with store.own():
        with pytest.raises(NotFound):
            await store.run(forks.fork_point, "t", 0)
        for n in range(24):
            await turn(store, f"{n}", snapshot(f"{n}"))
        kept = await rows_of(store, "SELECT n FROM turns WHERE state IS NOT NULL ORDER BY n")
        assert [n for (n,) in kept] == [*range(5, 25)]
        assert await rows_of(store, "SELECT COUNT(*) FROM checkpoints") == [(20,)]
        with pytest.raises(NotFound, match=r"last turns \(20\)"):
            await store.run(forks.fork_point, "t", 20)


async def test_a_fork_of_a_platforms_thread_begins_with_its_first_message(tmp_path: Path):
    store = new_store(tmp_path)
    async with store.own():
        for n in ("1", "2"):
            work = await begun(store, n, number=n)
            await end(store, work, checkpoints=(snapshot(n),))
        ends = [
            await store.run(forks.fork_point, "t", 0, message=number) for number in ("1", "1.5")
        ]
        assert ends == [1, 1]
        with pytest.raises(NotFound):
            await store.run(forks.fork_point, "t", 0, message="0.5")
        key = KEY.fork("f")
        assert (key.forked, KEY.forked, key.channel) == (KEY.root, "", KEY.channel)

        def begin(connection: Any) -> Any:
            return forks.begin_fork(connection, "t", 2, "f", folder=True, key=key, by=ANN.id)

        (origin,) = await store.write(begin)
        assert (origin.text, origin.person) == (ORIGIN_OF_2, ANN.id)
        delivery = await store.run(outbox.delivery, "f")
        assert (delivery.key, delivery.told, delivery.last) == (key, origin.seq - 1, origin.seq)
        row = OutboxRow(
            key="k", thread="f", place="", item="n", n=0, seq=origin.seq, status="delivered",
            first_at=1.0, at=1.0, message="9",
        )  # fmt: skip
        there = await store.run(forks.begin_at, row, "9")
        assert await store.run(forks.begin_at, row, "9") == there == replace(KEY, root="9")
        found = await store.run(threads.thread_at, there)
        assert found is not None
        assert (found.id, found.title) == ("f", "1 (fork)")
        assert (await store.run(outbox.delivery, "f")).rows == (row,)
        assert await store.read(broken_laws) == []


async def test_a_fork_that_its_platform_refuses_is_given_up_and_told_where_it_was_asked_for(
    tmp_path: Path,
):
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store, "1", number="1")
        await end(store, work, checkpoints=(snapshot("1"),))
        await store.run(outbox.give_up, "t", 9, "")  # all is told there
        key = KEY.fork("f")

        def begin(connection: Any) -> Any:
            return forks.begin_fork(connection, "t", 1, "f", folder=True, key=key, by=ANN.id)

        (origin,) = await store.write(begin)
        (told,) = await store.run(forks.refuse, "f", origin.seq, "Not here.", ANN.id)
        assert (told.thread, told.person, told.level) == ("t", ANN.id, "warning")
        assert told.text == "The copy of this thread that you asked for could not begin: Not here."
        delivery = await store.run(outbox.delivery, "f")
        assert (delivery.gone, delivery.told) == ("Not here.", origin.seq)
        await store.run(deletion.delete_thread, "t")
        with pytest.raises(NotFound):
            await store.run(forks.refuse, "f", origin.seq, "Not here.", ANN.id)
        assert await store.read(broken_laws) == []


async def test_a_fork_from_a_message_begins_where_that_was_worked_on(tmp_path: Path):
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store, "1", number="1")
        first = work.lease.turn
        await take(store, "2", number="2")  # they wait for their turns
        await take(store, "3", number="3")
        said = MessageFinished(thread="t", turn=first, agent="a", message="m", text="one")
        await end(store, work, events=(said,), checkpoints=(snapshot("1"),))
        (told,) = [
            each for each in await store.run(events.events, "t") if each.kind == "message_finished"
        ]
        row = OutboxRow(
            key="k", thread="t", place=str(KEY), item="s", n=0, seq=told.seq, status="delivered",
            first_at=1.0, at=1.0, message="7/4",
        )  # fmt: skip
        await store.run(outbox.put_part, row)
        await store.write(
            lambda c: c.execute("UPDATE inbox SET place = -1 WHERE message_id = '3'", {})
        )
        for n in ("3", "2"):
            await end(store, await begin(store), checkpoints=(snapshot(n),))
        found = [
            await store.run(forks.fork_point, "t", 0, message=n) for n in ("1", "2", "3", "4", "9")
        ]
        assert found == [1, 3, 2, 1, 3]


async def test_a_fork_is_not_muted_and_has_no_mode_of_approval_and_is_called_a_fork(tmp_path: Path):
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store, "1", number="1")
        lines = [
            Notice(thread="t", turn=work.lease.turn, text="Mode plan: none.", approval="plan"),
            Notice(thread="t", turn=work.lease.turn, text="A line."),
            ThreadRenamed(thread="t", title="Lunch", given=True),
        ]
        await end(store, work, events=lines, checkpoints=(snapshot("1"),))
        await store.write(
            lambda c: c.execute("UPDATE threads SET mode = 'muted steer', title = 'Lunch'", {})
        )
        for of, new in (("t", "f"), ("f", "g")):
            await store.run(forks.fork, of, 1, new, folder=True)
            found = await store.run(threads.thread, new)
            assert (found.muted, found.mode, found.title) == (False, "steer", "Lunch (fork)")
            told = await store.run(events.events, new)
            texts = [each.text.partition(" fork")[0] for each in told if isinstance(each, Notice)]
            assert texts == ["A line.", "This thread is a"]
            titles = [each.title for each in told if isinstance(each, ThreadRenamed)]
            assert titles == ["1 (fork)", "Lunch (fork)"]
        assert await store.read(broken_laws) == []


async def test_who_may_fork_is_known_and_within_the_limits(tmp_path: Path):
    store = new_store(tmp_path)
    async with store.own():
        await end(store, await begun(store, "1", number="1"), checkpoints=(snapshot("1"),))
        two, one = PersonLimits(parallel=1, turns=2), PersonLimits(parallel=1, turns=1)
        may = forks.may_begin
        assert await store.run(may, ANN.id, two, paired=False) is True
        assert await store.run(may, ANN.id, one, paired=False) is False
        assert await store.run(may, ANN.id, None, paired=False) is True
        assert await store.run(forks.may_begin, ANN.id, None, paired=True) is None


async def test_forks_with_words_of_a_platforms_thread_go_with_it(tmp_path: Path):
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store, "1", number="1")
        await end(store, work, checkpoints=(snapshot("1"),))
        assert await store.run(deletion.deleted_with, ["t"]) == []
        for of, new in (("t", "f"), ("f", "g")):
            await store.run(forks.fork, of, 1, new, folder=True)
        for threads_, forks_ in ((["t"], ["f", "g"]), (["t", "g"], ["f"]), (["f"], [])):
            found = await store.run(deletion.deleted_with, threads_)
            assert sorted(each.id for each in found) == forks_
        assert sorted(await store.run(deletion.delete_thread, "t")) == ["f", "g", "t"]


async def test_a_fork_can_be_forked_and_outlives_its_thread(tmp_path: Path):
    store = new_store(tmp_path)
    async with store.own():
        for n in range(3):
            await turn(store, f"{n}", snapshot("0") if n == 0 else delta(f"{n}"))
        await forked(store)
        await store.run(deletion.delete_thread, "t")
        n = await store.run(forks.fork_point, "f", 1)
        await store.run(forks.fork, "f", n, "g", folder=True)
        assert await state(store, "g") == "0 1"
        assert (await store.run(threads.thread, "g")).config == ""
        assert await store.read(broken_laws) == []
