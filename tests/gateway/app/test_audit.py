"""Lines of the audit: their fields, without secrets, and as they come."""

import asyncio
import json
from contextlib import aclosing
from typing import Any

import pytest

from gateway.app.audit import LONGEST, audit_line, audit_lines, moment
from gateway.base.redaction import REDACTION
from gateway.errors import GatewayError
from gateway.registry import ToolRule
from gateway.store.records import AuditRow
from gateway.store.units import audit
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ScriptedTeams, calls, ends, model, opened, solo, turn, until


def row(**more: Any) -> AuditRow:
    texts = ("person", "request", "kind", "tool", "arguments_hash", "outcome", "place")
    usual: dict[str, Any] = {**dict.fromkeys(texts, ""), "what": "tool.started"}
    return AuditRow(at=1_700_000_000.5, **{**usual, **more})


def line(**more) -> dict:
    return json.loads(audit_line(row(**more)))


def test_a_line_has_the_same_fields_first_whatever_it_tells():
    assert line(position=7) == {
        "position": 7,
        "time": "2023-11-14T22:13:20.500+00:00",
        "thread": "",
        "turn": "",
        "actor_kind": "gateway",
        "actor": "",
        "action": "tool.started",
        "object": "",
        "outcome": "",
    }


@pytest.mark.parametrize(
    ("who", "told"),
    [
        ({}, ("gateway", "", None)),
        ({"person": "x:ann"}, ("person", "x:ann", None)),
        ({"person": "deleted"}, ("deleted person", "", None)),
        ({"person": "x:ann", "agent": "writer"}, ("agent", "writer", "x:ann")),
    ],
)
def test_the_actor_is_a_person_an_agent_on_their_behalf_or_the_gateway(who, told):
    found = line(**who)
    assert (found["actor_kind"], found["actor"], found.get("on_behalf_of")) == told


@pytest.mark.parametrize(
    ("what", "action"),
    [
        ("answered", "request.answered"),
        ("revoked", "grant.revoked"),
        ("thread.muted", "thread.muted"),
    ],
)
def test_decisions_are_actions_on_requests_and_grants(what, action):
    assert line(what=what)["action"] == action


def test_a_denial_is_a_word_and_its_note():
    found = line(what="answered", answer="deny", outcome="denied: not today")
    assert (found["outcome"], found["note"]) == ("deny", "denied: not today")


def test_arguments_are_cut_after_their_secrets_are_gone(monkeypatch):
    secret = "hunter2-canary"
    monkeypatch.setattr(REDACTION, "_secrets", REDACTION._secrets)
    monkeypatch.setattr(REDACTION, "_forms", REDACTION._forms)
    REDACTION.add([secret])
    found = line(arguments=f"{'x' * (LONGEST - 5)}{secret}{'y' * 500}")["arguments"]
    assert "hunter" not in found
    assert len(found) == LONGEST + 1
    assert line(arguments='{"token": "sk-abcdefgh1234"}')["arguments"] == '{"token": "[secret]"}'


async def test_a_turn_says_who_approved_which_arguments_and_what_the_tool_did(tmp_path):
    async def send(to: str) -> str:
        """Send."""
        return "sent"

    def read(name: str) -> str:
        """Read."""
        raise ValueError(name)

    shared = model(calls("send", "read", send='{"to": "all"}', read='{"name": "a\\u001b"}'), "ok")
    rules = {"send": ToolRule(action="ask")}
    teams = ScriptedTeams(lambda: solo(shared, tools=[send, read]), rules=rules)
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        events = await turn(gateway, thread, "go")
        await gateway.client.send(thread, "/approve")
        await until(gateway, thread, ends, events[-1].seq)
        lines = [json.loads(each) async for each in audit_lines(gateway.store)]
        by_tool = {
            tool: [(each["action"], each["outcome"]) for each in lines if each["object"] == tool]
            for tool in ("read", "send")
        }
        assert by_tool == {
            "read": [("tool.started", "allowed"), ("tool.finished", "failed")],
            "send": [
                ("request.asked", ""),
                ("request.answered", "approve"),
                ("tool.started", "approved"),
                ("tool.finished", "done"),
            ],
        }
        of_send = [each for each in lines if each["object"] == "send"]
        assert {each["arguments"] for each in of_send} == {'{"to": "all"}'}
        assert len({each["turn"] for each in of_send}) == 1
        assert [each["actor"] for each in of_send] == ["solo", "local:operator", "solo", "solo"]
        await gateway.client.delete_thread(thread)
        left = [json.loads(each) async for each in audit_lines(gateway.store)]
    assert [each["action"] for each in left[:-1]] == [each["action"] for each in lines]
    assert not any(each.keys() & {"arguments", "arguments_hash", "note", "place"} for each in left)


async def test_who_follows_gets_what_is_done_from_then_on_too(tmp_path, monkeypatch):
    monkeypatch.setattr("gateway.app.audit.POLL", 0.001)
    store = new_store(tmp_path)
    async with store.own(), asyncio.timeout(5):
        await store.run(audit.note, "thread.muted")
        async with aclosing(audit_lines(store, follow=True)) as lines:
            assert "thread.muted" in await anext(lines)
            waiting = asyncio.ensure_future(anext(lines))
            await store.run(audit.note, "thread.unmuted")
            assert "thread.unmuted" in await waiting


@pytest.mark.parametrize(("limit", "told"), [(None, 5), (0, 0), (2, 2), (9, 5)])
async def test_pages_are_joined_up_to_the_limit(tmp_path, monkeypatch, limit, told):
    monkeypatch.setattr("gateway.app.audit.PAGE", 2)
    store = new_store(tmp_path)
    async with store.own():
        for n in range(5):
            await store.run(audit.note, "thread.muted", object=str(n))
        lines = [json.loads(each) async for each in audit_lines(store, limit=limit)]
    assert [each["object"] for each in lines] == [str(n) for n in range(told)]


def test_a_time_is_in_the_zone_of_the_config_unless_it_names_one():
    assert moment("2026-07-01", "Asia/Kolkata") == moment("2026-07-01T00:00+05:30", "")
    assert moment("2026-07-01T00:00Z", "Asia/Kolkata") == moment("2026-07-01T00:00+00:00", "")
    for wrong in ("yesterday", "0001-01-01"):
        with pytest.raises(GatewayError, match=f"'{wrong}' is no time such as"):
            moment(wrong, "")
