"""A gateway's memory does not grow with its past threads."""

import gc
import tracemalloc

import pytest

from gateway.access.authority import Access, Admission
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.gateway import Gateway, Limits
from gateway.store.decisions import PersonLimits
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ScriptedTeams, ends, solo, until

LIVE = 5
PER_THREAD = 2000
"""Bytes that may be left of a thread: far below what any of its objects in use takes."""


class Everybody(Access):
    def judge(self, message):
        return Admission(limits=PersonLimits(parallel=3, turns=30))


class LaneGroup:
    """Each thread has a person of its own, who says one thing."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._said = 0

    async def write(self, threads: int) -> None:
        for number in range(self._said, self._said + threads):
            receipt = await self._gateway.accept(
                InboundMessage(
                    key=ConversationKey(platform="slack", root=str(number)),
                    author=Author(id=f"slack:T:{number}", name=str(number)),
                    dedupe=(f"slack:{number}",),
                    text="hello",
                )
            )
            await until(self._gateway, receipt.thread, ends)
        self._said += threads


def allocated() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.chaos
async def test_nothing_is_kept_of_threads_that_rest(tmp_path):
    teams = ScriptedTeams(lambda: solo("one"))
    gateway = Gateway(
        new_store(tmp_path), teams, access=Everybody(), limits=Limits(live_teams=LIVE)
    )
    async with gateway:
        group = LaneGroup(gateway)
        await group.write(60)
        teams.workdirs.clear()
        tracemalloc.start()
        try:
            before = allocated()
            await group.write(120)
            teams.workdirs.clear()
            grown = allocated() - before
        finally:
            tracemalloc.stop()
        await gateway._dispatcher.rest()
        assert (await gateway.client.status()).live == LIVE
        kept = [gateway._bus._subscriptions, gateway._bus._opened, gateway._sessions._delays]
        kept += [gateway._sessions._stops, gateway._sessions._running]
        kept += [gateway._dispatcher._waiting, gateway._dispatcher._lines]
        assert not any(kept)
    assert grown < 120 * PER_THREAD
