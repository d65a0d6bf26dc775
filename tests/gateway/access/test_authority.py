"""A message's author is judged once; a verdict has one use."""

from dataclasses import replace

import pytest

from gateway.access.authority import Access, Admission, Judgement, awaited
from gateway.config.routes import Route
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.gateway import Gateway, Limits
from gateway.inbound.commands import parse_command
from gateway.store.records import Wait
from gateway.values import NO_OFFERS, Offers
from teams import RoundRobinGroupChat
from teams.agents import UserProxyAgent
from tests.fakes.counted_calls import CallsOf
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ScriptedTeams, ends, solo, until

OLGA = "local:operator"
ANN, EVE = Author(id="x:T1:ann", name="Ann"), Author(id="x:T1:eve", name="Eve")
KEY = ConversationKey(platform="x", workspace="T1", channel="C1", root="1")
HELLO = InboundMessage(key=KEY, author=ANN, text="hello")


def access(channel: str = "C1") -> Access:
    route = {"adapter": "x", "channels": [channel], "users": [ANN.id]}
    return Access(routes=[Route.model_validate(route)])


def opened(folder) -> Gateway:
    teams = ScriptedTeams(lambda: solo("fine", "fine"))
    return Gateway(new_store(folder), teams, access=access())


@pytest.mark.parametrize("text", ["hello", "/status", "approve 0123456789ab"])
async def test_a_message_is_parsed_and_judged_once(tmp_path, text):
    with CallsOf(parse_command, Access.judge) as seen:
        async with opened(tmp_path) as gateway:
            await gateway.accept(replace(HELLO, text=text))
            assert seen.counts == {"parse_command": 1, "judge": 1}
            seen.forget()
            judged = await gateway.judge(replace(HELLO, text=text))
            assert judged.may_write
            assert (await gateway.judge(judged)).may_write
            await gateway.accept(replace(judged, text=f"{text} again"))
            assert seen.counts == {"parse_command": 1, "judge": 1}


@pytest.mark.parametrize(
    "change",
    [
        {"author": EVE},
        {"author": replace(ANN, kind="guest")},
        {"key": replace(KEY, channel="C2")},
        {"direct": True},
    ],
    ids=["somebody else", "as another kind of person", "elsewhere", "in private"],
)
async def test_a_ruling_is_good_for_its_author_and_place_alone(tmp_path, change):
    async with opened(tmp_path) as gateway:
        judged = await gateway.judge(HELLO)
        with CallsOf(Access.judge) as seen:
            receipt = await gateway.accept(replace(judged, **change))
            assert seen.counts == {"judge": 1}
    let_in = change == {"author": replace(ANN, kind="guest")}  # who is named may be a guest
    assert (receipt.outcome == "turn") == let_in


async def test_a_ruling_is_good_for_a_thread_that_its_question_begins(tmp_path):
    async with opened(tmp_path) as gateway:
        with CallsOf(Access.judge) as seen:
            judged = await gateway.judge(replace(HELLO, key=replace(KEY, root="")))
            assert (await gateway.accept(replace(judged, key=KEY))).outcome == "turn"
            assert seen.counts == {"judge": 1}


async def test_a_ruling_ends_with_the_access_that_gave_it(tmp_path):
    async with opened(tmp_path) as gateway:
        judged = await gateway.judge(HELLO)
        teams = ScriptedTeams(lambda: solo("fine"))
        await gateway.reconfigure(teams, access=access("C2"), limits=Limits())
        assert (await gateway.accept(judged)).outcome == "refused"


async def test_the_accounts_bots_are_known_after_a_reload(tmp_path):
    bot = Author(id="x:T1:B1", name="Other", kind="bot")
    route = {"adapter": "x", "channels": ["C1"], "bots": [bot.id]}

    def named() -> Access:
        return Access(routes=[Route.model_validate(route)])

    teams = ScriptedTeams(lambda: solo("fine"))
    async with Gateway(new_store(tmp_path), teams, access=named()) as gateway:
        said = replace(HELLO, author=bot)
        assert gateway.policy.addressed(KEY, bot, direct=False, mentioned=True, in_thread=True)
        gateway.policy.introduce(["B1"])
        for _ in range(2):
            await gateway.reconfigure(teams, access=named(), limits=Limits())
            assert not gateway.policy.addressed(
                KEY, bot, direct=False, mentioned=True, in_thread=True
            )
            assert (await gateway.accept(replace(said, key=replace(KEY, root="2")))).thread == ""


async def test_a_ruling_that_no_gateway_made_counts_nothing(tmp_path):
    own = Access([EVE.id])
    ruling = Judgement(
        verdict=Admission(), by=own, key=KEY, author=EVE, direct=False, may_write=True
    )
    async with opened(tmp_path) as gateway:
        forged = replace(HELLO, author=EVE, ruling=ruling)
        assert not (await gateway.judge(forged)).may_write
        assert (await gateway.accept(forged)).outcome == "refused"


@pytest.mark.parametrize(
    ("kind", "approvers", "asker", "name"),
    [
        ("approval", (), ANN.id, ""),
        ("approval", ("asker",), ANN.id, "Ann"),
        ("approval", ("asker", "operators"), ANN.id, ""),
        ("approval", (EVE.id,), ANN.id, "its approvers"),
        ("text", (), ANN.id, "Ann"),
        ("choice", (), OLGA, ""),
    ],
)
def test_a_request_waits_for_the_operator_or_for_somebody_by_name(kind, approvers, asker, name):
    wait = Wait(agent="a", kind=kind, approvers=approvers, asker=asker, asker_name="Ann")
    assert awaited(wait) == name


def test_an_approval_for_few_known_people_waits_for_them_by_name():
    wait = Wait(
        agent="a", kind="approval", approvers=(ANN.id, EVE.id), asker=OLGA, asker_name="Olga"
    )
    assert awaited(replace(wait, approver_names=("Ann", "Eve"))) == "Ann or Eve"
    assert awaited(replace(wait, approver_names=("A", "B", "C", "D"))) == "its approvers"


async def test_a_list_of_threads_says_where_they_are_and_who_waits_for_whom(tmp_path):
    teams = ScriptedTeams(lambda: RoundRobinGroupChat([UserProxyAgent("boss")]))
    route = {"adapter": "x", "channels": ["C1"], "users": [ANN.id, EVE.id]}
    both = Access(routes=[Route.model_validate(route)])
    async with Gateway(new_store(tmp_path), teams, access=both) as gateway:
        own = await gateway.client.create_thread()
        receipt = await gateway.accept(HELLO)
        await until(gateway, receipt.thread, ends)
        await gateway.accept(replace(HELLO, author=EVE, text="and this"))
        [there] = await gateway.client.threads(platform="x")
        assert await gateway.client.threads(platform="local") == [own]
    assert (there.platform, there.channel, there.state) == ("x", "C1", "waiting")
    assert (there.asks, there.asked, there.queued) == ("boss", "Ann", 1)


def test_people_and_operators_have_the_choices_of_their_route_and_strangers_none():
    mine = {"adapter": "x", "channels": ["C1"], "dm": True, "users": [ANN.id], "teams": ["b", "a"]}
    routes = [Route.model_validate({**mine, "suggested_prompts": ["Hi"]})]
    rules = Access(["x:T1:boss"], routes=routes)
    rules.default_team = "a"
    boss = Author(id="x:T1:boss", name="Boss")
    for person in (ANN, boss):
        assert rules.offers(KEY, person, direct=False) == Offers(teams=("a", "b"), prompts=("Hi",))
    assert rules.offers(KEY, EVE, direct=False) == NO_OFFERS
    assert rules.offers(replace(KEY, channel="C2"), ANN, direct=False) == NO_OFFERS
    assert access().offers(KEY, ANN, direct=False) == NO_OFFERS
