"""Random units at once on few threads, and laws that hold afterwards."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any

from gateway.content.attachments import MISSING
from gateway.conversation import (
    Attachment,
    Author,
    AwaitedFile,
    ConversationKey,
    EventKind,
    InboundMessage,
    order_key,
)
from gateway.errors import LeaseLost, NotFound
from gateway.events import MessageFinished, Notice, SessionEvent, dump_event
from gateway.missed import Gap, ReadPage
from gateway.outbox import OutboxRow
from gateway.store.decisions import (
    NewThread,
)
from gateway.store.records import (
    CallRow,
    CallStatus,
    Checkpoint,
    MemoPlace,
    MemoScope,
    ModelUse,
    OpenMessage,
    Request,
)
from gateway.store.rulebook import JudgedMessage, RecoveryWords, TurnClaim
from gateway.store.turn_records import ClaimedTurn, Lease, TurnEnd, TurnUpdate
from gateway.store.units import adapters as adapter_units
from gateway.store.units import (
    audit,
    claims,
    deletion,
    expiry,
    gaps,
    inbox,
    invariants,
    joining,
    memos,
    outbox,
    people,
    queue,
    recovery,
    search_index,
)
from gateway.store.units import events as event_units
from gateway.store.units import files as file_units
from gateway.store.units import threads as thread_units
from gateway.store.units.inbox import accept
from tests.fakes.race_laws import LAWS, MOST_MEMOS
from tests.fakes.race_rules import PEOPLE, AnyRules, Chance

PLACES = [ConversationKey(platform="x", workspace="w", channel="c", root=str(n)) for n in range(4)]
COMMANDS = {
    "new": 2.0,
    "forget": 0.5,
    "stop": 3.0,
    "retry": 3.0,
    "mode": 3.0,
    "mute": 2.0,
    "withdraw": 3.0,
    "promote": 3.0,
    "again": 3.0,
    "memos": 0.5,
    "revoke": 0.5,
}
"""Commands, and how often each is given."""
ENDS = [
    TurnEnd(status="done"),
    TurnEnd(status="done"),
    TurnEnd(status="failed"),
    TurnEnd(status="paused"),
    TurnEnd(status="waiting"),
    TurnEnd(status="stopped"),
]


class StoreRace:
    """Calls operations of a store by chance; keeps their promises."""

    def __init__(self, store: Any, random: Random) -> None:
        self._store = store
        self._random = random
        self._numbers = count(1)
        self._marks = count(1)
        self._requests: list[str] = []
        self._leases: list[Lease] = []
        self.done = Counter[str]()
        self._tokens = 0
        self._events: dict[tuple[str, int], bytes] = {}

    async def run(self, operations: int, tasks: int = 12) -> None:
        """Run so many operations, `tasks` side by side."""
        left = iter(range(operations))

        async def work() -> None:
            for _ in left:
                await self._one()

        async with asyncio.TaskGroup() as group:
            for _ in range(tasks):
                group.create_task(work())

    async def faults(self) -> list[object]:
        """Everything that does not hold, once all has ended."""
        found: list[object] = [*await self._store.read(invariants.broken_laws)]
        while await self._store.run(search_index.index_words):
            pass
        found += await self._store.read(invariants.broken_laws)
        for law, query in LAWS.items():
            rows = await self._store.read(lambda connection, query=query: connection.fetch(query))
            found += [(law, tuple(row)) for row in rows]
        query = "SELECT COALESCE(SUM(prompt_tokens), 0) FROM usage"
        ((tokens,),) = await self._store.read(lambda connection: connection.fetch(query))
        if tokens != self._tokens:
            found.append(("usage was lost or counted twice", tokens, self._tokens))
        for thread in {thread for thread, _ in self._events}:
            with suppress(NotFound):
                await self._store.run(thread_units.thread, thread)
                stored = await self._store.run(event_units.events, thread, limit=100_000)
                kept = {event.seq: dump_event(event) for event in stored}
                found += [
                    ("an event was lost", thread, seq)
                    for (of, seq), body in self._events.items()
                    if of == thread and kept.get(seq) != body
                ]
        return found

    async def _one(self) -> None:
        operations: list[tuple[int, Callable[[], Awaitable[None]]]] = [
            (30, self._say),
            (12, self._command),
            (12, self._answer),
            (25, self._turn),
            (8, self._deliver),
            (10, self._keep),
            (3, self._clean),
        ]
        weights, calls = zip(*operations, strict=True)
        (call,) = self._random.choices(calls, weights)
        try:
            await call()
        except (NotFound, LeaseLost) as error:
            self.done[type(error).__name__] += 1
        else:
            self.done[call.__name__] += 1

    def _show(self, events: Sequence[SessionEvent]) -> None:
        for event in events:
            assert (event.thread, event.seq) not in self._events, f"{event} came twice"
            self._events[event.thread, event.seq] = dump_event(event)

    async def _accept(
        self, wish: str, message: InboundMessage, *, named: str = "", kind: Any = "message"
    ) -> None:
        rules = Chance(
            wish=wish,
            pick=self._random.randrange(30),
            mode=self._random.choice(["queue", "steer", "interrupt", "collect"]),
        )
        if named:
            message = replace(message, author=PEOPLE[rules.pick % 3])
        claim = TurnClaim(boot="boot", words=MISSING) if self._random.random() < 0.3 else None
        judged = JudgedMessage(
            message=message,
            rulebook=rules,
            new=NewThread(id=f"t{next(self._numbers)}", team="demo", definition="d"),
            kind=kind,
            named=named,
            counted=self._random.random() < 0.5,
            claim=claim if kind == "message" else None,
        )
        # Half of them as if other nodes had taken them.
        if self._random.random() < 0.5:
            accepted = await self._store.run(inbox.accept, judged)
        else:
            accepted = await self._store.write(lambda connection: accept(connection, judged))
        self._show(accepted.events)
        if accepted.turn is not None:
            self._show(accepted.turn.events)
            self._leases.append(accepted.turn.lease)

    def _message(self, event: EventKind, number: int) -> InboundMessage:
        random = self._random
        key = PLACES[number % len(PLACES)]
        if random.random() < (0.3 if event != "message" else 0.1):
            key = random.choice(PLACES)
        of = event if event in ("edit", "delete") else "create"
        at = str(next(self._marks)) if event == "edit" else ""
        dedupe = [key.dedupe(of, f"m{number}", at)]
        if event == "message" and random.random() < 0.3:
            dedupe.append(f"app/{number // 2}")
        text = f"word{number // 2}" if event == "message" else f"changed{at}"
        files = (Attachment(name="f", media_type="text/plain", data=b"%d" % (number % 3)),)
        awaited = (AwaitedFile(name="g", media_type="text/plain", size=4),)
        return InboundMessage(
            key=key,
            author=Author(id="") if event == "delete" else PEOPLE[number % len(PEOPLE)],
            event=event,
            text=text,
            message_id=f"m{number}",
            order_key=order_key(at or str(number)),
            dedupe=tuple(dedupe),
            attachments=files if random.random() < 0.4 else (),
            awaited=awaited if event == "message" and random.random() < 0.1 else (),
            keeps_files=event == "edit" and random.random() < 0.5,
            missed=random.random() < 0.1,
        )

    async def _say(self) -> None:
        """A message, often again, and changes of it, often before it."""
        event: EventKind = self._random.choices(("message", "edit", "delete"), (6, 3, 1))[0]
        newest = next(self._numbers)
        number = max(0, newest - self._random.randrange(8))
        wish = "say" if event == "message" else event
        kind = "message" if event == "message" else "edit"
        await self._accept(wish, self._message(event, number), kind=kind)

    async def _command(self) -> None:
        (wish,) = self._random.choices([*COMMANDS], [*COMMANDS.values()])
        threads = (
            await self._store.run(thread_units.threads, limit=6)
            if self._random.random() < 0.3
            else ()
        )
        key, thread = self._random.choice(PLACES), ""
        if threads:
            chosen = self._random.choice(threads)
            key, thread = chosen.key, chosen.id
        message = InboundMessage(
            key=key,
            thread=thread,
            author=self._random.choice(PEOPLE),
            text=f"/{wish}",
            dedupe=(f"command/{next(self._numbers)}",),
        )
        await self._accept(wish, message, kind="command")

    async def _answer(self) -> None:
        if not self._requests:
            return
        request = self._random.choice(self._requests[-6:])
        key = self._random.choice([ConversationKey.local(request), *PLACES])
        message = InboundMessage(key=key, author=PEOPLE[0], text="yes")
        await self._accept("answer", message, named=request, kind="answer")

    async def _turn(self) -> None:
        """A turn that begins, or a part of one that runs."""
        random = self._random
        if self._leases and random.random() < 0.7:
            lease = random.choice(self._leases[-5:])
        else:
            threads = await self._store.run(thread_units.threads, limit=8)
            if not threads:
                return
            thread = random.choice(threads).id
            claimed = await self._store.run(claims.begin, thread, "boot", words=MISSING)
            if not isinstance(claimed, ClaimedTurn):
                return
            self._show(claimed.events)
            self._leases.append(lease := claimed.lease)
        try:
            await self._work(lease)
        except LeaseLost:
            if random.random() < 0.7 and lease in self._leases:
                self._leases.remove(lease)
            raise

    async def _work(self, lease: Lease) -> None:
        match self._random.randrange(6):
            case 0:
                joined = await self._store.run(joining.join, lease)
                self._show(joined.events)
            case 1:
                await self._memo(lease)
            case _:
                await self._record(lease)

    async def _memo(self, lease: Lease) -> None:
        scopes: list[MemoScope] = ["thread", "team", "person"]
        scope = self._random.choice(scopes)
        key = {"thread": lease.thread, "team": "", "person": "p1"}[scope]
        place = MemoPlace(team="demo", scope=scope, key=key)
        number = next(self._numbers)
        memo = await self._store.run(
            memos.add_memo,
            lease,
            place,
            PEOPLE[1],
            f"text{number % 9}",
            call=f"c{number}",
            most=MOST_MEMOS,
        )
        if memo and self._random.random() < 0.5:
            await self._store.run(memos.delete_memo, lease, place, "p1", memo)

    async def _record(self, lease: Lease) -> None:
        random, number = self._random, next(self._numbers)
        end = random.choice(ENDS) if random.random() < 0.7 else None
        requests = ()
        if (end and end.status == "waiting") or random.random() < 0.1:
            requests = (self._request(lease, number),)
        spent = random.randrange(100)
        use = ModelUse(
            model="m",
            person="p1",
            team="demo",
            workspace="w",
            prompt_tokens=spent,
            completion_tokens=1,
            cost=0.5,
        )
        said = MessageFinished(
            thread=lease.thread,
            turn=lease.turn,
            agent="a",
            message=f"s{number}",
            text=f"said {number}",
        )
        shown = OpenMessage(message=f"s{number}", turn=lease.turn, agent="a", text="sa")
        calls: list[CallStatus] = ["started", "finished"]
        call = CallRow(
            key=f"call{number % 40}{lease.turn}",
            agent=("a",),
            tool="tool",
            arguments_hash="h",
            status=random.choice(calls),
            result="{}",
        )
        update = TurnUpdate(
            events=(said, Notice(thread=lease.thread, turn=lease.turn, text=str(number))),
            checkpoints=(
                Checkpoint(kind="snapshot", data=b"{}"),
                Checkpoint(kind="delta", data=b"d"),
            )
            if random.random() < 0.5
            else (),
            shown=(shown,),
            sealed=(f"s{number}",),
            calls=(call,),
            requests=requests,
            uses=(use,),
            end=end,
        )
        recorded = await self._store.record(lease, update)
        self._tokens += spent
        self._show(recorded.events)
        self._requests += [each.id for each in requests]

    def _request(self, lease: Lease, number: int) -> Request:
        now = self._store.clock()
        return Request(
            id=f"r{number}",
            engine_id=f"e{number}",
            thread=lease.thread,
            turn=lease.turn,
            kind="approval",
            agent=("a",),
            prompt="?",
            tool="tool",
            asked_at=now,
            expires_at=now + self._random.randrange(1, 2000),
            quorum=self._random.choice([1, 1, 2, 3]),
        )

    async def _deliver(self) -> None:
        random = self._random
        threads = await self._store.run(thread_units.threads, limit=6)
        if not threads:
            return
        thread = random.choice(threads)
        seq = random.randrange(thread.last_seq + 1)
        match random.randrange(4):
            case 0:
                await self._store.run(outbox.mark_delivered, thread.id, seq)
            case 1:
                await self._store.run(outbox.give_up, thread.id, seq, "gone")
                await self._store.run(outbox.clear_gone, thread.id)
            case _:
                now = self._store.clock()
                row = OutboxRow(
                    key=f"{thread.id}/{random.randrange(4)}",
                    thread=thread.id,
                    place=str(thread.key),
                    item="i",
                    n=1,
                    seq=seq,
                    status=random.choice(["pending", "attempting", "delivered"]),
                    first_at=now,
                    at=now,
                )
                await self._store.run(outbox.put_part, row)

    async def _keep(self) -> None:
        """Work of people, adapters and housekeeping beside turns."""
        random, store = self._random, self._store
        threads = await store.run(thread_units.threads, limit=6)
        thread = random.choice(threads) if threads else None
        match random.randrange(9):
            case 0 if thread:
                self._show(
                    await store.run(
                        thread_units.rename_thread, thread.id, f"title{random.randrange(99)}"
                    )
                )
            case 1 if thread:
                await store.run(
                    people.rate,
                    thread.id,
                    f"part{random.randrange(5)}",
                    "p1",
                    good=random.random() < 0.5,
                )
            case 2:
                await store.run(
                    adapter_units.mark,
                    "x",
                    f"name{random.randrange(3)}",
                    "text",
                    of=random.choice(PLACES),
                )
            case 3 if thread:
                query = "SELECT id FROM inbox WHERE awaits IS NOT NULL LIMIT 1"
                for row in await store.read(lambda connection: connection.fetch(query)):
                    arrived: list[Any] = []
                    await store.run_then(arrived.append, file_units.bring, row["id"], AnyRules())
                    self._show([event for each in arrived if each for event in each.events])
            case 4 if thread and (waiting := await self._waiting(thread.id)):
                taken = await store.run(queue.withdraw_here, thread.id, random.choice(waiting))
                self._show(taken[1] if taken else ())
            case 5:
                await store.run(audit.note, "race.noted")
            case 6:
                result = await store.run(expiry.settle_due, AnyRules(), store.clock())
                for events in result.events.values():
                    self._show(events)
            case _:
                await store.run(search_index.index_words)

    async def _waiting(self, thread: str) -> list[int]:
        query = "SELECT id FROM inbox WHERE thread = :thread AND outcome = 'queued'"
        rows = await self._store.read(
            lambda connection: connection.fetch(query, {"thread": thread})
        )
        return [row["id"] for row in rows]

    async def _clean(self) -> None:
        """Work that needs the store alone."""
        random, store = self._random, self._store
        match random.randrange(7):
            case 0:
                threads = await store.run(thread_units.threads, limit=6)
                if threads and random.random() < 0.4:
                    await store.run(deletion.delete_thread, random.choice(threads).id)
            case 1:
                await store.run(deletion.expire, store.clock() - 3_000, share=0.2, next_at=1.0)
            case 2 if random.random() < 0.1:
                await store.run(deletion.delete_person, random.choice(PEOPLE).id)
            case 3:
                await store.run(audit.drop_audit, store.clock() - 5_000)
            case 4:
                words = RecoveryWords(interrupted="again", parked="parked", reason="too often")
                await store.run(recovery.recover, "boot", words)
            case 5:
                place = replace(random.choice(PLACES), root="")
                gap = Gap(place=place, since=1.0, until=store.clock())
                await store.run(gaps.add_gaps, "x", [gap], {"seen": "1"})
            case _:
                for each in await store.run(gaps.open_gaps, "x", "w", threads=False, limit=2):
                    cursor = random.choice([None, "c"])
                    await store.run(gaps.finish_page, ReadPage(gap=each, cursor=cursor, newest=2.0))
