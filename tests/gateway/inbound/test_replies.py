"""Replies that only the store's facts make."""

from __future__ import annotations

from collections import defaultdict

import pytest

from gateway.budgets.usage import UsageRules
from gateway.conversation import LOCAL_OPERATOR
from gateway.inbound.replies import NO_MEMORY, PAGE, offer_after, reply_to
from gateway.store.records import Memo, UsageTotals
from gateway.store.rulebook import (
    Fact,
    GrantRevoked,
    MemosFound,
    MessageFound,
    MessageMissed,
    UsageFound,
)

USAGE = UsageRules(asker=LOCAL_OPERATOR, operator=True, now=0.0)


def memo(number: int, text: str) -> Memo:
    return Memo(id=number, team="demo", scope="person", person="p", name="P", text=text)


@pytest.mark.parametrize(
    ("fact", "said"),
    [
        (GrantRevoked(tool="rm", revoked=True), "rm needs approval again"),
        (GrantRevoked(tool="rm", revoked=False), "rm has no approval of yours"),
        (MessageFound(outcome="not yours", inbox=3), "not yours"),
        (MessageFound(outcome="not waiting", inbox=3), "with the number 3 is waiting"),
        (MessageFound(outcome="taken back", inbox=3), "Message 3 is withdrawn."),
        (MessageFound(outcome="comes first", inbox=3), "Message 3 comes next."),
        (MessageFound(outcome="not repeatable", inbox=3), "can't run again"),
        (MemosFound(memos=[], page=1, deleted=None), NO_MEMORY),
        (MemosFound(memos=[], page=1, deleted=2), "Entries deleted: 2."),
    ],
)
def test_a_fact_is_told(fact: Fact, said: str) -> None:
    assert said in reply_to(fact, USAGE)


def test_usage_is_told_by_its_rules() -> None:
    found = UsageFound(thread=None, used=defaultdict(UsageTotals))
    assert reply_to(found, USAGE) == USAGE.text(found)


def test_entries_are_told_page_by_page_as_code() -> None:
    memos = [memo(1, "a `b`\nc"), memo(2, "x" * PAGE)]
    first = reply_to(MemosFound(memos=memos, page=1, deleted=None), USAGE)
    assert first.splitlines()[0] == "1  `a 'b' c` (demo, told to you)"
    assert first.endswith("/memory 2 shows more.")
    beyond = reply_to(MemosFound(memos=memos, page=9, deleted=None), USAGE)
    assert beyond.startswith("2  `xxx")
    assert "shows more" not in beyond


def test_a_change_that_came_too_late_has_a_command() -> None:
    edited = offer_after(MessageMissed(event="edited", inbox=3))
    deleted = offer_after(MessageMissed(event="deleted", inbox=3))
    assert [edited.command, deleted.command] == ["/again 3", "/stop"]
