"""Blocks of people's own pages: whatever stands there, Slack takes them."""

from dataclasses import replace
from typing import Any

import pytest

from adapters.slack.action_ids import HOME, parse_action
from adapters.slack.connection.payload import gateway_text
from adapters.slack.inbound.parse_interactions import parse_interaction
from adapters.slack.inbound.parsed import Acted
from adapters.slack.outbound.home import home_blocks
from adapters.slack.simulator.methods.views import check_view
from gateway.conversation import ConversationKey
from gateway.events import InputRequested
from gateway.homes import Home, HomeRequest, HomeThread
from gateway.interactions import Click
from gateway.surface import Card
from tests.adapters.slack.inbound.test_parse_events import ME

OWN = gateway_text(())
KEY = ConversationKey(platform="slack", workspace="T1", channel="C1", root="1800000000.000001")
LINK = "https://x.slack.com/archives/C1/p1"
PING = "<!channel> & <https://bad.example|good>"
FAMILY = "\U0001f469\u200d\U0001f467"
APPROVAL = InputRequested(
    thread="t",
    turn="u",
    request="r" * 32,
    request_kind="approval",
    agent="refunds",
    prompt="",
    tool="refund",
    arguments='{"amount": 4711}',
)


def asked(request: InputRequested = APPROVAL, **more: Any) -> HomeRequest:
    return HomeRequest(card=Card(request=replace(request, **more), link=LINK), key=KEY)


def shown(home: Home) -> str:
    """The page's texts, once Slack has taken it."""
    blocks = home_blocks(home, OWN)
    check_view({"type": "home", "blocks": blocks}, kind="home")
    return str(blocks)


@pytest.mark.parametrize(
    "text",
    ["", PING, "x" * 50_000, "word " * 9_000, "\u202e\x00\x1b[31m", "*_`~" * 500, FAMILY * 4_000],
)
def test_whatever_stands_there_slack_takes_it_and_pings_nobody(text: str) -> None:
    questions = [
        asked(request_kind=kind, prompt=text, tool="", arguments="", options=options, agent=text)
        for kind, options in (("text", ()), ("choice", ("a", text)), ("choices", ("a", "b")))
    ]
    approvals = [asked(tool=text or "t", arguments=text), asked(arguments=f'{{"a": "{text}"}}')]
    threads = (HomeThread(title=text, link=text), HomeThread(title=text, link=LINK, waiting=True))
    home = Home(
        teams=((text, text),) * 40,
        direct=True,
        requests=(*questions, *approvals) * 4,
        threads=threads * 5,
        usage=text,
    )
    shown(home)
    # Text within rich_text is no mrkdwn: nothing there pings or links.
    page = str([each for each in home_blocks(home, OWN) if each["type"] != "rich_text"])
    assert "<!channel>" not in page
    assert "<https://bad" not in page
    if text:
        assert "More requests wait" in page


def test_what_can_not_be_shown_whole_has_no_button() -> None:
    assert "'Approve'" in shown(Home(requests=(asked(),)))
    long = asked(arguments='{"text": "' + "x" * 3_000 + '"}')
    assert "'Approve'" not in shown(Home(requests=(long,)))
    assert "Open the thread" in shown(Home(requests=(long,)))
    long = asked(request_kind="choice", prompt="x" * 3_000, options=("Mon",), tool="")
    assert "'Mon'" not in shown(Home(requests=(long,)))


@pytest.mark.parametrize(
    ("home", "said"),
    [
        (Home(), "You may not write to this team."),
        (Home(teams=(("demo", "a team"),), channels=True), "Mention me in a channel"),
        (Home(teams=(("demo", "a team"),), direct=True), "*demo*: a team"),
        (Home(teams=(("demo", ""),), direct=True, channels=True), "or mention me"),
        (Home(), "No request waits for you."),
        (Home(requests=(asked(),), more=True), "More requests wait"),
    ],
)
def test_a_page_says_how_to_ask(home: Home, said: str) -> None:
    assert said in shown(home)


def test_a_button_says_where_its_request_is() -> None:
    (row, *_) = [each for each in home_blocks(Home(requests=(asked(),)), OWN) if "block_id" in each]
    action = row["elements"][0] | {"block_id": row["block_id"], "action_ts": "1800000000.000002"}
    assert parse_action(action) is not None
    payload = {
        "type": "block_actions",
        "team": {"id": "T1"},
        "user": {"id": "U1"},
        "container": {"type": "view", "view_id": "V1"},
        "view": {"id": "V1", "callback_id": HOME},
        "actions": [action],
    }
    found = parse_interaction(payload, ME)
    assert isinstance(found, Acted)
    assert found.draft.message.key == KEY
    assert found.draft.at_home
    assert isinstance(found.does, Click)
    for wrong in ("", "C1", "/1800000000.000001"):
        payload["actions"] = [action | {"block_id": wrong}]
        assert not isinstance(parse_interaction(payload, ME), Acted)
