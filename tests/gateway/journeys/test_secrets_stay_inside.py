"""Secrets and texts in their intended places, and nowhere else."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from adapters.slack.simulator.clock import VirtualClock
from gateway.access.authority import Access
from gateway.app.stores import AnyStore
from gateway.base.logging import OWN, log_to
from gateway.base.redaction import REDACTION
from gateway.config.budgets import Budget
from gateway.config.routes import Route
from gateway.config.settings import Attachments
from gateway.conversation import Attachment, Author, ConversationKey, InboundMessage
from gateway.errors import StoreFull
from gateway.events import Notice, dump_event
from gateway.gateway import Gateway, Limits
from gateway.store.units import events as event_units
from gateway.surface import CallRejected, OutcomeUnknown, PlatformUnreachable
from teams.models import (
    BadCredentials,
    ContextOverflow,
    ModelRefused,
    ModelTimeout,
    ModelUnreachable,
    RateLimited,
)
from teams.tools import FunctionTool, ToolTraits
from tests.fakes.new_store import new_store
from tests.fakes.scripted_surface import Board, Surface
from tests.fakes.tested_store import everything_in
from tests.gateway.delivery.delivered import all_told, say, served
from tests.gateway.scripted import ScriptedTeams, calls, ends, model, of, solo, turn, until

SECRET = "canary-s3cret-0123456789"
TEXT = "canary text of a person"
KEY = ConversationKey(platform="chat", channel="C1", root="1")
ANN = Author(id="chat:T1:ann", name="Ann")
EVE = Author(id="chat:T1:eve", name="Eve")


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(REDACTION, "_secrets", frozenset())
    monkeypatch.setattr(REDACTION, "_forms", frozenset())
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    log_to(tmp_path / "parley.log", "debug")
    REDACTION.add([SECRET])
    yield tmp_path / "parley.log"
    for handler in root.handlers:
        handler.close()
    root.handlers[:], root.level = handlers, level
    for name in OWN:
        logging.getLogger(name).setLevel(logging.NOTSET)
    logging.captureWarnings(capture=False)


def failing(error: Exception):
    """A model that fails like a provider's client, its key included."""
    client = model("never")

    async def fail(*arguments, **more):
        try:
            raise ConnectionError(f"401 for Authorization: Bearer {SECRET}")
        except ConnectionError as cause:
            raise error from cause

    client.create = fail  # pyright: ignore[reportAttributeAccessIssue]
    return lambda: solo(client)


def with_tool(tool: FunctionTool):
    return lambda: solo(calls("leak"), "done", tools=[tool])


def leak() -> str:
    return f"my key is {SECRET}"


def fail() -> str:
    raise PermissionError(f"refused with {SECRET}")


def tool(function, **traits) -> FunctionTool:
    return FunctionTool(function, "Leaks.", name="leak", traits=ToolTraits(**traits))


def broken():
    raise RuntimeError(f"no team for {SECRET}")


FAULTS = {
    "key refused": failing(BadCredentials(f"bad key {SECRET}")),
    "busy": failing(RateLimited(f"slow down {SECRET}")),
    "late": failing(ModelTimeout(SECRET)),
    "gone": failing(ModelUnreachable(SECRET)),
    "refused": failing(ModelRefused(SECRET)),
    "too long": failing(ContextOverflow(SECRET)),
    "a bug": failing(ZeroDivisionError(SECRET)),
    "a tool that fails": with_tool(tool(fail)),
    "a tool that ends the turn": with_tool(tool(fail, fatal_errors=True)),
    "a tool that tells": with_tool(tool(leak)),
    "no team": broken,
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_no_fault_lets_a_secret_out(tmp_path, log, fault):
    requests: list[Any] = []

    def make():
        team = FAULTS[fault]()
        requests.extend(vars(agent)["_model_client"] for agent in vars(team)["_participants"])
        return team

    teams = ScriptedTeams(make)
    route = Route(adapter="chat", channels=["C1"], users=["ann"])
    store = new_store(tmp_path / "store")
    async with Gateway(store, teams, access=Access(routes=[route])) as gateway:
        thread = (await gateway.accept(InboundMessage(key=KEY, author=ANN, text=TEXT))).thread
        await gateway.accept(InboundMessage(key=KEY, author=EVE, text="canary of eve"))
        events = await until(gateway, thread, ends)
    shown = b"\n".join(map(dump_event, events)).decode()
    assert SECRET not in shown
    for each in requests:
        assert SECRET not in json.dumps(getattr(each, "create_calls", []), default=str)
    kept = everything_in(store.folder)
    assert SECRET.encode() not in kept
    assert b"canary of eve" not in kept
    written = log.read_text()
    assert SECRET not in written
    assert TEXT not in written
    for notice in of(Notice, events):
        assert notice.incident in written
        assert "Error" not in notice.text


def only_the_store_may_have(text: str, store: AnyStore, log: Path) -> None:
    """The log has neither text nor secret, the disk no secret."""
    written = log.read_text()
    assert text not in written
    assert SECRET not in written
    kept = everything_in(store.folder)
    assert SECRET.encode() not in kept


@pytest.mark.sqlite
async def test_a_full_store_says_nothing_of_what_it_does_not_take(tmp_path, log):
    store = new_store(tmp_path / "store")
    route = Route(adapter="chat", channels=["C1"], users=["ann"])
    teams = ScriptedTeams(lambda: solo("never"))
    async with Gateway(store, teams, access=Access(routes=[route])) as gateway:
        await store.write(lambda c: c.execute("PRAGMA max_page_count = 1"))
        with pytest.raises(StoreFull) as raised:
            await gateway.accept(InboundMessage(key=KEY, author=ANN, text=TEXT * 1000))
        logging.getLogger("gateway").error("not taken", exc_info=raised.value)
    only_the_store_may_have(TEXT, store, log)
    kept = everything_in(store.folder)
    assert TEXT.encode() not in kept


@pytest.mark.parametrize("error", [CallRejected, OutcomeUnknown, PlatformUnreachable, RuntimeError])
async def test_a_delivery_that_fails_lets_no_secret_out(tmp_path, log, error):
    board, clock = Board(), VirtualClock()
    board.fail("post", error(f"refused with {SECRET} by the platform"))
    store = new_store(tmp_path)
    async with served(tmp_path, Surface(board), lambda: solo(TEXT), clock=clock) as gateway:
        thread = await say(gateway, TEXT)
        await all_told(gateway, clock)
        events = await gateway.store.run(event_units.events, thread)
    assert SECRET not in b"\n".join(map(dump_event, events)).decode()
    assert SECRET not in str(board.texts)
    assert not board.faults  # it was met
    only_the_store_may_have(TEXT, store, log)


async def test_a_file_that_is_refused_is_kept_nowhere(tmp_path, log):
    store = new_store(tmp_path / "store")
    limits = Limits(attachments=Attachments(types=["image/*"]))
    route = Route(adapter="chat", channels=["C1"], users=["ann"])
    file = Attachment(name="a.txt", media_type="text/plain", data=f"{TEXT} in a file".encode())
    teams = ScriptedTeams(lambda: solo("never"))
    async with Gateway(store, teams, access=Access(routes=[route]), limits=limits) as gateway:
        receipt = await gateway.accept(
            InboundMessage(key=KEY, author=ANN, text=TEXT, attachments=(file,))
        )
    assert receipt.outcome == "refused"
    assert TEXT not in receipt.reply
    only_the_store_may_have(TEXT, store, log)
    kept = everything_in(store.folder)
    assert TEXT.encode() not in kept


async def test_a_budget_s_end_quotes_nobody(tmp_path, log):
    store = new_store(tmp_path / "store")
    limits = Limits(budgets=[Budget(per="thread", turns=1)])
    shared = model(TEXT, "never")
    teams = ScriptedTeams(lambda: solo(shared))
    async with Gateway(store, teams, limits=limits) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, TEXT)
        events = await turn(gateway, thread, f"{TEXT} again")
    (notice,) = of(Notice, events)
    assert "is used up" in notice.text
    assert "canary" not in notice.text
    only_the_store_may_have(TEXT, store, log)


async def test_people_read_one_sentence_and_the_log_the_rest(tmp_path, log):
    teams = ScriptedTeams(FAULTS["a tool that ends the turn"])
    async with Gateway(new_store(tmp_path / "store"), teams) as gateway:
        thread = await gateway.client.create_thread()
        await gateway.client.send(thread.id, "go")
        events = await until(gateway, thread.id, ends)
    (notice,) = of(Notice, events)
    assert notice.text == ("The tool 'leak' failed, so the answer ends here. You can try again.")
    assert notice.retry
    written = log.read_text()
    assert f"incident {notice.incident}: thread {thread.id}" in written
    assert "(tool failed)" in written
    assert "PermissionError: refused with [secret]" in written
