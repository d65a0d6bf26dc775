"""Fuzz targets of the gateway, each with inputs and a check.

A check may raise nothing but AssertionError; the errors that a part documents are expected there.
"""

from __future__ import annotations

import asyncio
import atexit
import copy
import json
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

from hypothesis import strategies as st
from pydantic import ValidationError

from gateway.access.authority import Access
from gateway.app.load import load_config
from gateway.base.redaction import Redaction
from gateway.client import Answer
from gateway.config.expressions import ExpressionError, parse
from gateway.config.problems import ConfigError
from gateway.config.root import Config
from gateway.config.routes import Route
from gateway.config.validation import validate
from gateway.content.task import quote_block, without_imitations
from gateway.conversation import Author, ConversationKey, InboundMessage, Quote, order_key
from gateway.events import load_event
from gateway.inbound.commands import parse_command
from gateway.inbound.policy import usual_rules
from gateway.interactions import Choice, Click, Form
from gateway.render.markdown import mrkdwn
from gateway.render.sanitize import label, sanitize, visible
from gateway.store.decisions import (
    CommandReply,
    MessageEdit,
    MessageRefusal,
    MessageWithdrawal,
    NoAction,
)
from gateway.store.records import Situation
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import Team
from teams.conditions import MaxMessageTermination
from tests.gateway.scripted import model


@dataclass(frozen=True)
class Target:
    """`check` holds for everything that `inputs` makes."""

    inputs: st.SearchStrategy[Any]
    check: Callable[[Any], None]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


# --- config ---

_WORDS = (
    *(
        "[models.a]",
        "[teams.t]",
        "[[routes]]",
        "[policies]",
        "[policies.tools]",
        "[adapters.slack]",
    ),
    *("[limits]", "[store]", "[teams.t.agents.x]", "type = 'swarm'", "max_turns = 1", "dm = true"),
    *("users = 'members'", "adapter = 'slack'", "default = 'ask'", "x = { action = 'allow' }"),
    *(
        "operators = ['slack:T:U']",
        'termination = "MaxMessage(3)"',
        "model = 'gpt-4o'",
        "keys = 'a'",
    ),
    *(
        "agents = {}",
        "api_key_env = 'NO'",
        "folder = '${NO}'",
        "a.b.c = 1",
        "= 1",
        "'''",
        "{",
        "\0",
    ),
)
CONFIG_TEXTS = st.lists(st.sampled_from(_WORDS) | st.text(max_size=12), max_size=12).map("\n".join)
_KEYS = st.sampled_from(
    [*Config.model_fields, *Route.model_fields, "type", "agents", "default", "x", "api_key_file"]
)
CONFIG_TABLES = st.recursive(
    st.sampled_from(["ask", "swarm", "members", "", "slack:T:U", "(", "a:b"])
    | st.booleans()
    | st.integers(-2, 40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=16,
)


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="parley-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _config_text(text: str) -> None:
    path = _folder() / "config.toml"
    path.write_bytes(text.encode(errors="surrogatepass"))
    with suppress(ConfigError):
        load_config(path, references=False)


def _config_table(table: dict[str, Any]) -> None:
    checked = validate(Config, table, written=table, folder=_folder())
    assert isinstance(checked.value, Config)
    assert all(problem.text for problem in checked.problems)


def _expression(text: str) -> None:
    with suppress(ExpressionError):
        parse(text)


# --- what comes in ---

_TEXTS = st.text(max_size=60) | st.lists(
    st.sampled_from(["/", "approve", "deny", " ", "stop", "0123456789ab", "always", "\n"]),
    max_size=6,
).map("".join)
KEYS = st.builds(
    ConversationKey,
    platform=st.text(max_size=8),
    workspace=st.text(max_size=8),
    channel=st.text(max_size=8),
    root=st.text(max_size=8),
    user=st.text(max_size=8),
)
AUTHORS = st.builds(
    Author,
    id=st.sampled_from(["chat:T1:ann", "chat:T1:boss", "local:operator"]) | st.text(max_size=12),
    name=st.text(max_size=30),
    kind=st.sampled_from(["member", "guest", "external", "bot"]),
    groups=st.frozensets(st.sampled_from(["staff", "x"])),
)
FORMS = st.sampled_from(["note", "text"])
ANSWERS = st.builds(
    Answer,
    kind=st.sampled_from(["text", "approve", "approve_same", "approve_always", "deny"]),
    text=_TEXTS,
)
MESSAGES = st.builds(
    InboundMessage,
    key=st.just(ConversationKey(platform="chat", channel="C1")) | KEYS,
    author=AUTHORS,
    text=_TEXTS,
    direct=st.booleans(),
    event=st.sampled_from(["message", "edit", "delete", "click", "stop"]),
    click=st.none()
    | st.builds(Click, request=st.text(max_size=12), answer=ANSWERS)
    | st.builds(Choice, request=st.text(max_size=12), numbers=st.tuples(st.integers(0, 99)))
    | st.builds(Form, request=st.text(max_size=12), kind=FORMS, text=st.text(max_size=12)),
)
ACCESS = Access(
    ["chat:T1:boss"],
    routes=[Route(adapter="chat", channels=["C1"], users=["ann"], roles=["staff"])],
)
NOTHING_YET = Situation(
    thread=None, status=None, waiting=0, asker="", requests=(), named=None, told=None
)


def _key(text: str) -> None:
    try:
        key = ConversationKey.parse(text)
    except ValueError:
        return
    assert ConversationKey.parse(str(key)) == key


def _round_trip(key: ConversationKey) -> None:
    assert ConversationKey.parse(str(key)) == key


def _order(text: str) -> None:
    with suppress(ValueError):
        assert order_key(text)


def _command(text: str) -> None:
    command = parse_command(text)
    assert command is None or isinstance(command.name, str)


def _decided(message: InboundMessage) -> None:
    found = usual_rules(message, ACCESS, now=1000.0).decide(NOTHING_YET)
    author = message.author
    if message.event in ("edit", "delete"):
        assert isinstance(found, MessageEdit | MessageWithdrawal | NoAction)
    elif author.kind == "bot" or (author.kind != "member" and author.id != "chat:T1:ann"):
        assert isinstance(found, MessageRefusal) or ACCESS.operators.include(author)
    elif message.click is not None:
        assert isinstance(found, MessageRefusal | CommandReply)
    if isinstance(found, MessageEdit | MessageWithdrawal) and found.anybody:
        assert ACCESS.operators.include(author) or not author.id


def _event(text: str) -> None:
    with suppress(ValidationError):
        load_event(text)


EVENT_LINES = st.builds(
    lambda kind, rest: json.dumps({"kind": kind, "thread": "t", **rest}),
    st.sampled_from(["notice", "text_delta", "input_requested", "turn_started", "nothing"]),
    st.dictionaries(st.sampled_from(["text", "agent", "message", "messages", "seq"]), JSON),
)


# --- states and components ---


def _team() -> RoundRobinGroupChat:
    agent = AssistantAgent("a", model("yes", "no"))
    return RoundRobinGroupChat([agent], termination_condition=MaxMessageTermination(2))


@cache
def _saved() -> tuple[asyncio.AbstractEventLoop, dict[str, Any], bytes, dict[str, Any]]:
    async def saved() -> tuple[dict[str, Any], bytes]:
        team = _team()
        await team.run(task="hello")
        return dict(await team.save_state()), await team.save_snapshot()

    loop = asyncio.new_event_loop()
    state, snapshot = loop.run_until_complete(saved())
    component = _team().dump_component().model_dump()
    return loop, state, snapshot, component


Edit = tuple[list[int], Any]
EDITS = st.lists(st.tuples(st.lists(st.integers(0, 9), min_size=1, max_size=6), JSON), max_size=3)


def edited(data: Any, edits: list[Edit]) -> Any:
    """The data with some of its values put out or exchanged."""
    data = copy.deepcopy(data)
    for path, value in edits:
        place: Any = data
        for step in path[:-1]:
            inner = _child(place, step)
            if inner is None or not isinstance(place[inner], dict | list):
                break
            place = place[inner]
        if (key := _child(place, path[-1])) is not None:
            if value is None:
                del place[key]
            else:
                place[key] = value
    return data


def _child(place: Any, step: int) -> Any:
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    return keys[step % len(keys)] if keys else None


def _state(edits: list[Edit]) -> None:
    loop, state, _, _ = _saved()
    with suppress(ValueError):
        loop.run_until_complete(_team().load_state(edited(state, edits)))


def _snapshot(cuts: list[tuple[int, bytes]]) -> None:
    loop, _, snapshot, _ = _saved()
    for at, put in cuts:
        place = at % (len(snapshot) + 1)
        snapshot = snapshot[:place] + put + snapshot[place + len(put) :]
    _, _, body = snapshot.partition(b"\n")
    forged = b'{"parley_state":2,"crc32":"%08x"}\n%b' % (crc32(body), body)
    for part in (snapshot, forged):
        with suppress(ValueError):
            loop.run_until_complete(_team().load_snapshot([part]))


def _component(edits: list[Edit]) -> None:
    component = edited(_saved()[3], edits)
    with suppress(ValueError, TypeError, NotImplementedError):
        Team.load_component(component, Team)


# --- what goes out ---


def _shown(text: str) -> None:
    for safe in (sanitize(text), visible(text)):
        assert "\x1b" not in safe
        assert "\x9b" not in safe
    assert "<" not in mrkdwn(text)
    assert "@everyone" not in mrkdwn(text).lower()
    assert len(label(text, 10)) <= 10


def _foreign(text: str) -> None:
    assert quote_block(Quote(text=text, author=text), "f00f").count("<<<end of foreign") == 1
    assert without_imitations(without_imitations(text)) == without_imitations(text)


def _redacted(text: str) -> None:
    assert "s3cr3t-s3cr3t" not in Redaction(["s3cr3t-s3cr3t"]).all(f"{text}s3cr3t-s3cr3t{text}")


MARKS = st.lists(
    st.sampled_from(
        [
            *("[", "](", ")", "<", ">", "|", "`", "```", "@", "everyone", "<@U1>", "<!here>", "\n"),
            *("https://e.example", "\x1b[31m", "\x9b", "\u202e", "\u200b", "\ud800", "<<<", ">>>"),
            *("end of foreign", "foreign", " ", "[a \u00b7 b]", "token=", "xoxb-"),
        ]
    )
    | st.text(max_size=6),
    max_size=14,
).map("".join)

TARGETS: dict[str, Target] = {
    "config text": Target(CONFIG_TEXTS, _config_text),
    "config table": Target(st.dictionaries(_KEYS, CONFIG_TABLES, max_size=5), _config_table),
    "expression": Target(
        st.lists(
            st.sampled_from(["Max", "(", ")", "|", "&", "'a'", "3", ",", "=", "[", "]", "1e9"])
            | st.text(max_size=5),
            max_size=12,
        ).map("".join),
        _expression,
    ),
    "conversation key": Target(
        st.text(st.sampled_from("/%25ab\u00e4 "), max_size=30) | st.text(max_size=30), _key
    ),
    "conversation key round trip": Target(KEYS, _round_trip),
    "order mark": Target(st.text(st.sampled_from("0123456789.-e \u0663"), max_size=30), _order),
    "command": Target(_TEXTS, _command),
    "inbound message": Target(MESSAGES, _decided),
    "event": Target(EVENT_LINES | st.text(max_size=60), _event),
    "team state": Target(EDITS, _state),
    "team snapshot": Target(
        st.lists(st.tuples(st.integers(0, 4000), st.binary(max_size=6)), max_size=4), _snapshot
    ),
    "component": Target(EDITS, _component),
    "what is shown": Target(MARKS, _shown),
    "foreign text": Target(MARKS, _foreign),
    "log line": Target(MARKS, _redacted),
}
