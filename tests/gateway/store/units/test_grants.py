"""Modes of approval among a thread's grants."""

import pytest

from gateway.conversation import LOCAL_OPERATOR
from gateway.events import EDITS, PLAN
from gateway.store.decisions import ApprovalChange
from gateway.store.turn_records import ApprovalMode
from gateway.store.units import grants
from tests.fakes.new_store import new_store
from tests.gateway.store.talk import take

pytestmark = pytest.mark.usefixtures("database")


async def test_a_thread_has_the_mode_that_was_chosen_last(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        thread = (await take(store, "hi")).thread
        assert await store.run(grants.approval_mode, thread) == ApprovalMode()
        for mode in (EDITS, PLAN):
            change = ApprovalChange(approval=mode, notice="")
            await take(store, "/mode", change, author=LOCAL_OPERATOR)
            found = await store.run(grants.approval_mode, thread)
            assert found == ApprovalMode(name=mode, person=LOCAL_OPERATOR.id)
        await take(store, "/mode", ApprovalChange(approval="ask", notice=""))
        assert await store.run(grants.approval_mode, thread) == ApprovalMode()
        assert await store.run(grants.approval_mode, "gone") == ApprovalMode()
