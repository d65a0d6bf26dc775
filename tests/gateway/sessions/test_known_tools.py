"""A server makes another tool of one: nothing that was allowed holds."""

import asyncio
import logging
from dataclasses import replace

import pytest

from gateway.access.authority import Access
from gateway.client import Answer
from gateway.content.tool_texts import met_tool
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.events import InputRequested, InputResolved, SessionEvent, ToolFinished, TurnFinished
from gateway.interactions import Click
from gateway.registry import ToolRule
from gateway.sessions.event_bus import LocalBus
from gateway.sessions.known_tools import MOST_LISTED, KnownTools, Remark
from gateway.store.nodes import Node
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from gateway.store.protocols import SessionStore
from gateway.store.records import MetTool
from gateway.store.units import audit as audit_units
from gateway.store.units import known_texts, met_tools
from teams.base import ToolCall
from tests.fakes.new_store import new_store
from tests.fakes.shop import PINNED_ALLOW, PINNED_ASK, Shop
from tests.gateway.scripted import ScriptedTeams, calls, ends, model, of, opened, solo, turn, until

APPROVE, ALWAYS = Answer(kind="approve"), Answer(kind="approve_always")
ACCEPT = Answer(kind="approve_new")
KEY = ConversationKey(platform="x", workspace="T1", channel="C", root="1")
CLOSED = "closed: the tool has changed since this was asked"


def teams_with(shop: Shop, rule: ToolRule, turns: int = 5) -> ScriptedTeams:
    shared = model(*[calls("price"), "It is 12 euros."] * turns)
    return ScriptedTeams(lambda: solo(shared, workbench=shop), rules={"price": rule})


def asks(event) -> bool:
    return isinstance(event, InputRequested)


async def asked(client, thread: str, text: str = "go") -> InputRequested:
    [request] = of(InputRequested, await turn(client, thread, text))
    return request


async def answered(gateway, request: InputRequested, answer: Answer) -> list:
    assert await gateway.client.answer(request.request, answer) is None
    return await until(gateway, request.thread, ends, after=request.seq + 1)


async def test_an_allowed_tool_is_asked_for_once_it_is_another(tmp_path):
    shop = Shop()
    async with opened(tmp_path, teams_with(shop, PINNED_ALLOW)) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "go")
        assert len(shop.called) == 1
        shop.change()
        request = await asked(gateway, thread)
        assert (len(shop.called), request.changed, request.always) == (1, True, False)
        assert [kind for kind, _ in request.grants] == ["approve_new"]
        assert request.diff is not None
        assert "-The price of an item." in request.diff.lines
        assert '+    "amount": {' in request.diff.lines
        await answered(gateway, request, APPROVE)  # this call alone
        assert (len(shop.called), (await asked(gateway, thread)).changed) == (2, True)


async def test_with_its_new_description_it_is_allowed_again(tmp_path):
    shop = Shop()
    async with opened(tmp_path, teams_with(shop, PINNED_ALLOW)) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "go")
        shop.change()
        events = await answered(gateway, await asked(gateway, thread), ACCEPT)
        [resolved] = of(InputResolved, events)
        assert resolved.outcome == "approved, and its new description"
        assert not of(InputRequested, await turn(gateway, thread, "again"))
        assert len(shop.called) == 3
        rows = await gateway.store.run(
            audit_units.whole_audit, after=0, since=0, until=2.0**40, limit=100, longest=0
        )
        told = [row for row in rows if row.what.startswith("tool.c") or row.what == "tool.accepted"]
        audit = [(row.what, row.person, row.tool) for row in told]
    assert audit == [
        ("tool.changed", "", "shop/price"),
        ("tool.accepted", "local:operator", "shop/price"),
    ]


async def test_an_approval_for_the_thread_ends_with_the_tool(tmp_path):
    shop = Shop()
    async with opened(tmp_path, teams_with(shop, PINNED_ASK)) as gateway:
        thread = (await gateway.client.create_thread()).id
        await answered(gateway, await asked(gateway, thread), ALWAYS)
        assert not of(InputRequested, await turn(gateway, thread, "go"))
        shop.change()
        changed = await asked(gateway, thread)
        assert changed.changed
        await answered(gateway, changed, ACCEPT)
        again = await asked(gateway, thread)  # what was approved before was another tool
        assert (again.changed, again.always) == (False, True)


async def test_open_approvals_are_closed_with_the_reason_and_asked_anew(tmp_path):
    shop = Shop()
    shared = model(calls("price"), calls("price"), "done", "done")
    teams = ScriptedTeams(lambda: solo(shared, workbench=shop), rules={"price": PINNED_ASK})
    async with opened(tmp_path, teams) as gateway:
        first = (await gateway.client.create_thread()).id
        old = await asked(gateway, first)
        shop.change()
        other = await asked(gateway, (await gateway.client.create_thread()).id)
        assert other.changed
        seen = await until(gateway, first, asks, after=old.seq + 1)
        [closed] = of(InputResolved, seen)
        assert (closed.request, closed.outcome) == (old.request, CLOSED)
        new = seen[-1]
        assert (new.changed, new.request != old.request) == (True, True)
        assert any("not those that were accepted" in each.prompt for each in (new, other))
        assert (
            await gateway.client.answer(old.request, APPROVE)
            == f"This is already settled: {CLOSED}."
        )
        await until(gateway, first, lambda e: isinstance(e, TurnFinished), after=new.seq)
        await answered(gateway, new, APPROVE)
        assert len(shop.called) == 1


async def test_an_approval_that_was_given_before_the_change_runs_nothing(tmp_path):
    shop = Shop()
    teams = teams_with(shop, PINNED_ASK)
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        old = await asked(gateway, thread)
    shop.change()
    async with opened(tmp_path, teams) as gateway:
        await gateway.client.answer(old.request, APPROVE)
        new = (await until(gateway, thread, asks, after=old.seq))[-1]
        assert (new.changed, shop.called) == (True, [])


@pytest.mark.parametrize("kind", ["approve_always", "approve_same", "approve_below"])
async def test_a_changed_tool_takes_no_approval_for_a_thread(tmp_path, kind):
    shop = Shop()
    async with opened(tmp_path, teams_with(shop, PINNED_ASK)) as gateway:
        thread = (await gateway.client.create_thread()).id
        request = await asked(gateway, thread)
        refused = await gateway.client.answer(request.request, ACCEPT)
        assert refused == "The tool has not changed; approve the call."
        shop.change()
        assert await gateway.client.answer(request.request, APPROVE) is None
        changed = (await until(gateway, thread, asks, after=request.seq))[-1]
        assert changed.changed
        refused = await gateway.client.answer(changed.request, Answer(kind=kind))
        assert "whole thread" in str(refused)
        assert shop.called == []


async def test_a_server_that_may_rewrite_its_texts_is_not_held_to_them(tmp_path):
    shop = Shop()
    async with opened(tmp_path, teams_with(shop, PINNED_ALLOW)) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "go")
    free = ToolRule(action="allow", output="trusted", pin="shop", pinned=False)
    async with opened(tmp_path, teams_with(shop, free)) as gateway:
        shop.change()
        assert not of(InputRequested, await turn(gateway, thread, "go"))
        assert await gateway.store.run(known_texts.known_tools) == []
    assert len(shop.called) == 2


async def test_a_tool_is_known_before_it_is_called(tmp_path):
    shop = Shop()
    shared = model("No need.", calls("price"), "done")
    teams = ScriptedTeams(lambda: solo(shared, workbench=shop), rules={"price": PINNED_ALLOW})
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "go")
        shop.change()
        assert (await asked(gateway, thread)).changed


async def test_all_nodes_know_the_same_tool(tmp_path):
    """Met by one gateway, it holds for the next on that store."""
    shop = Shop()
    teams = teams_with(shop, PINNED_ALLOW)
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "go")
    shop.change()
    async with opened(tmp_path, teams) as gateway:
        assert (await asked(gateway, thread)).changed


async def test_a_new_description_takes_as_many_people_as_the_call(tmp_path):
    shop, bosses = Shop(), [Author(id=f"x:T1:boss{n}", name=f"Boss {n}") for n in range(3)]
    access = Access([each.id for each in bosses])
    rule = replace(PINNED_ASK, quorum=2)
    async with opened(tmp_path, teams_with(shop, rule), access=access) as gateway:

        async def click(boss: Author, request: str, answer: Answer) -> str:
            click = Click(request=request, answer=answer)
            message = InboundMessage(key=KEY, author=boss, event="click", click=click)
            return (await gateway.accept(message)).reply

        async def ask() -> InputRequested:
            receipt = await gateway.accept(InboundMessage(key=KEY, author=bosses[0], text="go"))
            after = max((each.seq for each in heard), default=0)
            heard.extend(await until(gateway, receipt.thread, ends, after))
            return of(InputRequested, heard)[-1]

        async def over(request: InputRequested) -> None:
            heard.extend(await until(gateway, request.thread, ends, after=heard[-1].seq))

        heard: list[SessionEvent] = []
        first = await ask()
        for boss in bosses[:2]:
            await click(boss, first.request, APPROVE)
        await over(first)
        shop.change()
        changed = await ask()
        assert (changed.changed, changed.quorum) == (True, 2)
        await click(bosses[0], changed.request, ACCEPT)
        assert "already approved" in await click(bosses[0], changed.request, ACCEPT)
        [known] = await gateway.store.run(known_texts.known_tools)
        assert (len(shop.called), len(known.others)) == (1, 1)
        await click(bosses[2], changed.request, ACCEPT)
        await over(changed)
        [known] = await gateway.store.run(known_texts.known_tools)
        assert (len(shop.called), known.others) == (2, ())
        assert not (await ask()).changed


async def test_who_approves_the_call_alone_accepts_no_description_for_others(tmp_path):
    shop, bosses = Shop(), [Author(id=f"x:T1:boss{n}", name=f"Boss {n}") for n in range(2)]
    rule = replace(PINNED_ASK, quorum=2)
    access = Access([each.id for each in bosses])
    async with opened(tmp_path, teams_with(shop, rule), access=access) as gateway:
        await gateway.store.run(met_tools.meet_tool, met_tool("shop", "price", {"name": "price"}))
        message = InboundMessage(key=KEY, author=bosses[0], text="go")
        thread = (await gateway.accept(message)).thread
        heard = await until(gateway, thread, ends)
        [request] = of(InputRequested, heard)
        assert request.changed
        for boss, answer in zip(bosses, (ACCEPT, APPROVE), strict=True):
            click = Click(request=request.request, answer=answer)
            await gateway.accept(InboundMessage(key=KEY, author=boss, event="click", click=click))
        await until(gateway, thread, ends, after=heard[-1].seq)
        [known] = await gateway.store.run(known_texts.known_tools)
        assert (len(shop.called), len(known.others)) == (1, 1)


def tools_of(store: SessionStore, remark: Remark = lambda *_: None) -> KnownTools:
    return KnownTools(store, LocalBus(), lambda *_: None, remark)


async def test_live_nodes_know_the_same_tool(tmp_path, postgres_url):
    was, became = listed("price", text="a"), listed("price", text="b")
    told: dict[str, list[str]] = {"a": [], "b": []}
    stores = {
        name: PostgresStore(Database(url=postgres_url, pool_size=2), tmp_path / name)
        for name in told
    }
    nodes = {
        name: tools_of(store, lambda _, text, n=name: told[n].append(text))
        for name, store in stores.items()
    }
    async with stores["a"].own(Node(boot="a")), stores["b"].own(Node(boot="b")):

        async def actions(call: ToolCall) -> list[str]:
            return [(await node.judge(call, PINNED_ALLOW)).rule.action for node in nodes.values()]

        assert await actions(was) == ["allow", "allow"]
        assert await actions(became) == ["ask", "ask"]
        assert [len(each) for each in told.values()] == [1, 0]  # one node tells it
        assert became.schema is not None
        assert await stores["b"].run(
            known_texts.accept_tool, met_tool("shop", "price", became.schema)
        )
        assert await actions(became) == ["allow", "allow"]
        assert await actions(was) == ["ask", "ask"]


async def test_a_misnamed_rule_is_told_in_the_turn_the_log_and_the_status(tmp_path, caplog):
    caplog.set_level(logging.WARNING, logger="gateway")
    shop, wrong = Shop(), "policies.tools.shop/price: found 'itme', expected an argument"
    rule = ToolRule(action="deny", reason=wrong, mistake=wrong)
    teams = ScriptedTeams(
        lambda: solo(calls("price"), "I may not.", calls("price"), "no", workbench=shop),
        rules={"price": rule},
    )
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        events = [*await turn(gateway, thread, "go"), *await turn(gateway, thread, "again")]
        for finished in of(ToolFinished, events):
            assert finished.failed
            assert wrong in finished.result
        assert [each.outcome for each in of(TurnFinished, events)] == ["done", "done"]
        assert wrong in str(await gateway.client.status())
    assert shop.called == []
    assert [each.message for each in caplog.records] == [wrong]


def listed(name: str, **more) -> ToolCall:
    schema = {"name": name, "description": more.pop("text", "")}
    return ToolCall(
        key="", id="", name=name, arguments="", agent=(), server="shop", schema=schema, **more
    )


async def test_a_server_with_too_many_tools_pushes_none_out(tmp_path, monkeypatch):
    monkeypatch.setattr("gateway.store.units.known_texts.MOST_TOOLS", 3)
    store = new_store(tmp_path)
    async with store.own():
        tools = tools_of(store)
        await tools.see([(listed(f"t{n}"), PINNED_ALLOW) for n in range(5)])
        assert [each.tool for each in await store.run(known_texts.known_tools)] == [
            "t0",
            "t1",
            "t2",
        ]
        assert (await tools.judge(listed("t0"), PINNED_ALLOW)).rule.action == "allow"
        unknown = await tools.judge(listed("t4"), PINNED_ALLOW)
        assert (unknown.rule.action, unknown.rule.always_allowed) == ("ask", False)
    assert MOST_LISTED == 500


async def test_a_rule_that_can_not_be_followed_is_told_once(tmp_path, caplog):
    caplog.set_level(logging.WARNING, logger="gateway")
    remarks: list[tuple[str, str]] = []
    tools = tools_of(new_store(tmp_path), lambda *said: remarks.append(said))
    wrong = ToolRule(action="deny", mistake="policies.tools.x: found 'txet'")
    for _ in range(2):
        assert (await tools.judge(listed("x"), wrong)).rule.action == "deny"
    assert remarks == [("policies", wrong.mistake)]
    assert [each.message for each in caplog.records] == [wrong.mistake]


async def test_two_texts_of_one_tool_side_by_side_do_not_chase_each_other(tmp_path):
    """Old processes live on beside new ones: a change is told once."""
    told: list[str] = []
    store = new_store(tmp_path)
    async with store.own():
        tools = tools_of(store, lambda _, text: told.append(text))
        for text in ("a", "b", "a", "b", "a"):
            judged = await tools.judge(listed("price", text=text), PINNED_ALLOW)
            assert (judged.rule.action, bool(judged.meant)) == (
                ("allow", False) if text == "a" else ("ask", True)
            )
        assert len(told) == 1
        [known] = await store.run(known_texts.known_tools)
        assert len(known.others) == 1


async def test_calls_without_a_text_are_judged_by_the_rule_alone(tmp_path):
    tools = tools_of(new_store(tmp_path))
    call = ToolCall(key="", id="", name="x", arguments="", agent=(), server="shop")
    await asyncio.wait_for(tools.see([(call, PINNED_ALLOW)]), 5)
    judged = await tools.judge(call, PINNED_ALLOW)
    assert (judged.rule, judged.met) == (PINNED_ALLOW, None)
    assert isinstance(MetTool(server="a/mcp", tool="t", digest="", text="").full_name, str)
