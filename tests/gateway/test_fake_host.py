"""The adapters' fake host answers as a gateway does."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.access.authority import Access
from gateway.adapter import AdapterHost
from gateway.config.routes import Route
from gateway.conversation import (
    Attachment,
    Author,
    AwaitedFile,
    ConversationKey,
    InboundMessage,
    MissingFile,
)
from gateway.errors import NotFound
from gateway.gateway import Gateway
from tests.fakes.adapter_host import FakeHost
from tests.fakes.new_store import new_store
from tests.fakes.scripted_model import ScriptedModel
from tests.gateway.scripted import ScriptedTeams, solo

KEY = ConversationKey(platform="slack", workspace="T1", channel="C1", root="1.0")
ANN, EVE = Author(id="slack:T1:U1", name="Ann"), Author(id="slack:T1:U2", kind="guest")
ROUTES = [Route(adapter="slack", channels=["*"], users=["members"])]
FILE = AwaitedFile(name="plan.txt", media_type="text/plain", size=9, ref="F1")


@asynccontextmanager
async def hosts(folder: Path) -> AsyncGenerator[tuple[AdapterHost, AdapterHost]]:
    """The fake, and a gateway under the same rules."""
    teams = ScriptedTeams(lambda: solo(ScriptedModel(*["Fine."] * 20)))
    async with Gateway(new_store(folder), teams, access=Access(routes=ROUTES)) as gateway:
        yield FakeHost(Access(routes=ROUTES)), gateway


def said(text: str = "", id: str = "1.0", author: Author = ANN, **more) -> InboundMessage:
    dedupe = (KEY.dedupe("create", id),)
    return InboundMessage(key=KEY, author=author, text=text, message_id=id, dedupe=dedupe, **more)


def deletion(id: str) -> InboundMessage:
    return replace(
        said(id=id, author=Author(id=""), event="delete"), dedupe=(KEY.dedupe("delete", id),)
    )


def edit(text: str, id: str) -> InboundMessage:
    return replace(said(text, id, event="edit"), dedupe=(KEY.dedupe("edit", id, "9"),))


SCRIPTS: dict[str, list[InboundMessage]] = {
    "a message": [said("hello")],
    "the same twice": [said("hello"), said("hello")],
    "who may not write": [said("hello", author=EVE), said("again", "2.0", EVE)],
    "who may not command": [said("/status", author=EVE, event="command")] * 2,
    "help": [said("/help")],
    "a command that is none": [said("/helpp"), said("/usr/bin is a path", "2.0")],
    "a command in a thread": [said("hello"), said("/grants", "2.0", event="command")],
    "an edit": [said("hello"), edit("hello?", "1.0"), edit("hello?", "1.0")],
    "a deletion": [said("hello"), deletion("1.0")],
    "an edit of nothing": [edit("hello", "7.0")],
    "an edit of nothing in a thread": [said("hello"), edit("hello", "7.0")],
    "a deletion of nothing": [deletion("7.0")],
    "for others": [said("hello"), said("shall we?", "2.0", only_answers=True)],
    "a file": [said("see", awaited=(FILE,))],
    "a file that is too large": [said("see", awaited=(replace(FILE, size=10**9),))],
}


@pytest.mark.parametrize("script", SCRIPTS)
async def test_both_give_the_same_receipts(tmp_path: Path, script: str) -> None:
    async with hosts(tmp_path) as both:
        facts = [await facts_of(host, SCRIPTS[script]) for host in both]
        assert facts[0] == facts[1]


async def facts_of(host: AdapterHost, script: list[InboundMessage]) -> list[object]:
    """Hand in messages; all that an adapter learns."""
    found: list[object] = []
    numbers: list[int] = []
    for message in script:
        judged = await host.judge(message)
        before = await host.known_keys(message.dedupe)
        receipt = await host.accept(judged)
        numbers.append(receipt.inbox)
        thread = await host.conversations.thread_at(message.key)
        found += [
            judged.may_write,
            before,
            (receipt.outcome, receipt.reply, receipt.private),
            (thread is not None, thread.id if thread else "")
            == (bool(receipt.thread), receipt.thread),
            await host.known_keys(message.dedupe),
            host.is_command(message.text),
            numbers.index(receipt.inbox),
            [each.files for each in await host.files.awaited_files("slack")],
            await host.files.awaited_files("discord"),
        ]
    return found


async def test_files_are_brought_once(tmp_path: Path) -> None:
    async with hosts(tmp_path) as both:
        for host in both:
            receipt = await host.accept(said("see", awaited=(FILE,)))
            files = [Attachment(name="plan.txt", media_type="text/plain", data=b"buy bread")]
            for _ in range(2):
                await host.files.bring_files(receipt.inbox, files, [MissingFile(name="b")])
                assert await host.files.awaited_files("slack") == []


def told(host: AdapterHost) -> list[object]:
    return [host.commands(), host.limits.largest_file, host.limits.missed, host.policy.groups]


async def test_both_have_the_same_rules_and_commands(tmp_path: Path) -> None:
    async with hosts(tmp_path) as (fake, gateway):
        assert told(fake) == told(gateway)


async def test_marks_are_kept_by_platform_and_name(tmp_path: Path) -> None:
    async with hosts(tmp_path) as both:
        for host in both:
            for platform, name, value in (
                ("slack", "a", "1"),
                ("slack", "a", "2"),
                ("x", "b", "3"),
            ):
                await host.marks.keep(platform, name, value)
            assert await host.marks.read("slack") == {"a": "2"}
            assert await host.marks.read("slack", "b") == {}
            assert await host.marks.read("x", "b") == {"b": "3"}


async def test_threads_that_are_not_there_are_not_found(tmp_path: Path) -> None:
    async with hosts(tmp_path) as both:
        for host in both:
            with pytest.raises(NotFound):
                await host.conversations.rename_thread("none", "title")
            with pytest.raises(NotFound):
                await host.conversations.rate("none", "p", "slack:T1:U1", good=True)
            with pytest.raises(NotFound):
                await host.accept(said("hello", team="none"))
            receipt = await host.accept(said("hello"))
            await host.conversations.rename_thread(receipt.thread, "Greetings")
            thread = await host.conversations.thread_at(KEY)
            assert thread is not None
            assert thread.title == "Greetings"
