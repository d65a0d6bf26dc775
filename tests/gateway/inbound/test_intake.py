"""Intake of messages: decided while stored, then followed up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gateway.access.authority import Access
from gateway.conversation import Attachment, AwaitedFile, InboundMessage
from gateway.errors import GatewayClosed, NotFound
from gateway.gateway import Gateway
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ScriptedTeams, ends, model, opened, solo, until
from tests.gateway.store.talk import ANN, KEY

HI = InboundMessage(key=KEY, author=ANN, text="hi", dedupe=("k1",), message_id="1")
PLAN = AwaitedFile(name="plan.txt", media_type="text/plain", size=3, ref="F1")
FILE = Attachment(name="plan.txt", media_type="text/plain", data=b"one")


def teams() -> ScriptedTeams:
    return ScriptedTeams(lambda: solo(model("Hello.", "Ho.")))


async def test_a_message_is_taken_once_and_run(tmp_path: Path) -> None:
    async with opened(tmp_path, teams(), access=Access([ANN.id])) as gateway:
        receipt = await gateway.accept(HI)
        again = await gateway.accept(HI)
        assert (again.thread, again.inbox) == (receipt.thread, receipt.inbox)
        await until(gateway, receipt.thread, ends)
        assert gateway.vitals.accepted.total() == 1


async def test_missed_messages_are_taken_in_their_order_by_one_turn(tmp_path: Path) -> None:
    async with opened(tmp_path, teams(), access=Access([ANN.id])) as gateway:
        second = replace(HI, text="and then", dedupe=("k2",), message_id="2")
        one, two = await gateway.accept_missed([HI, second])
        assert (one.thread, one.inbox < two.inbox) == (two.thread, True)
        started, *_ = await until(gateway, one.thread, lambda event: event.kind == "turn_started")
        await until(gateway, one.thread, ends)
        assert started


async def test_a_message_gets_its_files_when_they_come(tmp_path: Path) -> None:
    async with opened(tmp_path, teams(), access=Access([ANN.id])) as gateway:
        receipt = await gateway.accept(replace(HI, awaited=(PLAN,)))
        [waits] = await gateway.files.awaited_files("x")
        assert (waits.inbox, waits.files) == (receipt.inbox, (PLAN,))
        await gateway.files.bring_files(waits.inbox, [FILE], [])
        assert await gateway.files.awaited_files("x") == []
        await until(gateway, receipt.thread, ends)
        assert (await gateway.client.thread(receipt.thread)).attached == 3


async def test_a_thread_begins_with_a_team_that_is_there(tmp_path: Path) -> None:
    async with opened(tmp_path, teams(), access=Access([ANN.id])) as gateway:
        receipt = await gateway.accept(replace(HI, team="other"))
        thread = await gateway.client.thread(receipt.thread)
        assert (thread.team, thread.participants) == ("other", ("solo",))
        with pytest.raises(NotFound):
            await gateway.accept(replace(HI, team="none", dedupe=("k2",)))


async def test_nothing_is_taken_before_the_gateway_is_entered(tmp_path: Path) -> None:
    gateway = Gateway(new_store(tmp_path), teams())
    with pytest.raises(GatewayClosed):
        await gateway.accept(HI)
