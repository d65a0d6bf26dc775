"""The text surface contract on Discord, and Discord's own cases."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from pydantic import SecretStr

from adapters.discord.connection.message_body import CONTENT, SUPPRESS_EMBEDS
from adapters.discord.connection.rest import Rest
from adapters.discord.conversations.threads import MessageTargets
from adapters.discord.outbound.payloads import MARK
from adapters.discord.outbound.surface import NONCE_SECONDS, DiscordSurface
from adapters.discord.outbound.webhooks import Webhooks
from adapters.discord.simulator.components import walk
from adapters.discord.testing import (
    ConnectionReset,
    DiscordSimulator,
    Message,
    ServerError,
    TooManyRequests,
)
from adapters.slack.simulator.clock import VirtualClock
from gateway.access.authority import Access
from gateway.adapter import AdapterHost
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.delivery.service import delivering
from gateway.events import BROKE_OFF, InputRequested
from gateway.gateway import Gateway
from gateway.render.split import split
from gateway.store.units import outbox
from gateway.surface import Activity, Card, Document, File, Line, Part, Place, Speech
from tests.adapters.discord.serving import bot_messages, bot_texts, thread_of
from tests.contract.text_surface import TextSurfaceContract, VisibleMessage
from tests.fakes.new_store import new_store
from tests.gateway.scripted import ScriptedTeams, solo

TWICE = "-# This message may appear twice."
POST = "/channels/{channel_id}/messages"


class NoMarks:
    """Nothing is kept, and no conversation is known."""

    @property
    def conversations(self) -> "NoMarks":
        return self

    @property
    def marks(self) -> "NoMarks":
        return self

    async def read(self, platform: str, name: str = "") -> dict[str, str]:
        return {}

    async def keep(
        self, platform: str, name: str, value: str, *, of: ConversationKey | None = None
    ) -> None: ...

    async def thread_at(self, key: ConversationKey) -> None: ...


class DiscordHarness:
    """A thread on the simulated Discord."""

    def __init__(self, discord: DiscordSimulator, rest: Rest) -> None:
        self.discord = discord
        alice, bob = discord.person("alice"), discord.person("bob")
        self.people = (f"discord:{alice.id}", f"discord:{bob.id}")
        self.channel = discord.channel("general")
        self.rest = rest
        self.targets = MessageTargets(rest, "public", cast("AdapterHost", NoMarks()))
        self.surface = DiscordSurface(rest, self.targets, str(discord.bot.id), lambda: ())

    async def begin(self) -> None:
        asked = await self.discord.person("alice").mentions(self.channel, "hello")
        key = ConversationKey(
            platform="discord",
            workspace=str(self.discord.home.id),
            channel=str(self.channel.id),
            root=str(asked.id),
        )
        self.place = Place(key=key, thread="t", asker=self.people[0])
        self.asked = asked

    @property
    def thread(self):
        return self.asked.thread

    async def seen(self) -> list[VisibleMessage]:
        if self.thread is None:
            return []
        return [_seen(each) for each in bot_messages(self.discord, self.thread)]

    async def busy(self) -> bool:
        self.discord.advance(1.0)
        now = self.discord.world.clock.now()
        return any(
            each.channel is self.thread and now - each.at < 10 for each in self.discord.typing
        )

    async def title(self) -> str:
        return self.thread.name if self.thread else ""

    def limit_rate(self) -> None:
        self.discord.faults.plan(TooManyRequests(1.0), when=_is_post)

    def lose_answer(self) -> None:
        self.discord.faults.plan(ConnectionReset(committed=True), when=_is_post)

    def break_down(self) -> None:
        self.discord.faults.plan(ServerError(503), when=_is_post)

    async def archive(self) -> None:
        await self.surface.rename(self.place, "closed")
        self.discord.deny(self.channel, self.discord.bot, "manage_threads")
        self.discord.archive(thread_of(self.asked), locked=True)

    async def remove(self, message: str) -> None:
        self.discord.delete(thread_of(self.asked).messages[int(message)])


def _is_post(call) -> bool:
    return call.method == "POST" and call.route == POST


def _seen(message: Message) -> VisibleMessage:
    pings = {f"discord:{each.id}" for each in message.pings}
    if message.everyone or message.role_pings:
        pings.add("everyone")
    return VisibleMessage(
        id=str(message.id),
        text=re.sub(r"\\([^A-Za-z0-9\s])", r"\1", message.content),
        pings=frozenset(pings),
        buttons=tuple(each["label"] for each in walk(message.components) if each.get("label")),
        files=tuple((each.filename, each.content) for each in message.attachments),
    )


@pytest.fixture
async def harness(discord: DiscordSimulator) -> AsyncIterator[DiscordHarness]:
    async with Rest(SecretStr(discord.token), discord.api_url) as rest:
        harness = DiscordHarness(discord, rest)
        async with harness.surface:
            await harness.begin()
            yield harness


class TestTheContract(TextSurfaceContract):
    @pytest.fixture
    def harness(self, harness: DiscordHarness) -> DiscordHarness:
        return harness


async def test_the_longest_of_everything_fits(harness: DiscordHarness) -> None:
    tools = tuple(
        Activity(id=str(n), kind="tool", title="_" * 80, status="running") for n in range(20)
    )
    hand_off = Activity(id="h", kind="handoff", title="*" * 80)
    speech = Speech(agent="*" * 90, text="", activity=(*tools, hand_off))
    text = "x" * harness.surface.room(speech)
    said = replace(speech, text=text)
    await harness.surface.post(harness.place, Part(key="k", content=said, unsure=True))
    await harness.surface.post(harness.place, Part(key="l", content=said))
    await harness.surface.post(
        harness.place,
        Part(key="m", content=replace(said, growing=True, resuming=True, written=9_999_999)),
    )
    full, plain, growing = bot_texts(harness.discord, thread_of(harness.asked))
    assert text in full
    assert text in plain
    assert CONTENT - MARK <= len(full) <= CONTENT  # an emoji may be longer
    assert CONTENT - 60 - MARK <= len(growing) <= CONTENT


async def test_a_call_that_comes_late_takes_no_text_away(harness: DiscordHarness) -> None:
    speech = Speech(agent="ann", text="")
    text = "x" * harness.surface.room(speech)
    tool = Activity(id="t", kind="tool", title="search")
    late = replace(speech, text=text, activity=(tool,))
    await harness.surface.post(harness.place, Part(key="k", content=late))
    assert text in bot_texts(harness.discord, thread_of(harness.asked))[0]


@pytest.mark.parametrize(
    "speech",
    [
        Speech(agent="ann", text=""),
        Speech(agent="_" * 90, text="", first=False),
        Speech(agent="ann", text="", activity=(Activity(id="t", kind="tool", title="search"),)),
        Speech(agent="ann", text="", mark=BROKE_OFF),
        Speech(agent="ann", text="", growing=True),
    ],
)
async def test_a_text_fills_what_the_rest_of_its_message_leaves(
    harness: DiscordHarness, speech: Speech
) -> None:
    text = ("word " * 400)[: harness.surface.room(speech)].rstrip()
    assert len(text) > 1_700
    await harness.surface.post(harness.place, Part(key="k", content=replace(speech, text=text)))
    (shown,) = bot_texts(harness.discord, thread_of(harness.asked))
    assert text in shown
    assert CONTENT - 150 - MARK < len(shown) <= CONTENT


@pytest.mark.parametrize(
    "arguments",
    ['{"to": "a\u202eb\u200b"}', '{"to": 1, "to": 2}', '{"n": 1e400}', "not json", '{"a": "```"}'],
)
async def test_a_card_shows_the_exact_arguments(harness: DiscordHarness, arguments: str) -> None:
    request = InputRequested(
        thread="t",
        request="0123456789ab",
        request_kind="approval",
        agent="solo",
        prompt="solo wants to use send.",
        tool="send",
        arguments=arguments,
    )
    await harness.surface.post(harness.place, Part(key="k", content=Card(request=request)))
    (card,) = bot_messages(harness.discord, thread_of(harness.asked))
    shown = card.content + "".join(file.content.decode() for file in card.attachments)
    assert "\u202e" not in shown
    assert "\u200b" not in shown
    for piece in ("\u27e8U+202E\u27e9", "\u27e8U+200B\u27e9") if "\u202e" in arguments else ():
        assert piece in shown
    for piece in ('"to": 1', '"to": 2') if '"to": 1' in arguments else ():
        assert piece in shown
    if "1e400" in arguments:
        assert "1e400" in shown


@pytest.mark.parametrize("lines", [12, 60, 2000])
async def test_a_card_shows_the_lines_of_a_text(harness: DiscordHarness, lines: int) -> None:
    text = "".join(f"{n} = 'a text of some length @everyone'\n" for n in range(lines))
    request = InputRequested(
        thread="t",
        request="0123456789ab",
        request_kind="approval",
        agent="solo",
        prompt="solo wants to use write.",
        tool="write",
        arguments=json.dumps({"path": "run.py", "content": text}),
    )
    await harness.surface.post(harness.place, Part(key="k", content=Card(request=request)))
    (card,) = bot_messages(harness.discord, thread_of(harness.asked))
    assert "```\npath: run.py\n```" in card.content
    if lines == 12:
        assert f"`content` · 12 lines\n```python\n{text}```" in card.content
        return
    [file] = card.attachments
    indented = "".join(f"    {line}" for line in text.splitlines(keepends=True))
    assert f"{file.content.decode()}\n" == f"path: run.py\ncontent:\n{indented}"
    assert f"`content` ({lines:,} lines)" in card.content


async def test_a_card_says_why_it_asks(harness: DiscordHarness) -> None:
    because = "It needs approval because this conversation contains results of fetch."
    request = InputRequested(
        thread="t",
        request="0123456789ab",
        request_kind="approval",
        agent="solo",
        prompt=f"solo wants to use send. {because}",
        tool="send",
        arguments="{}",
    )
    await harness.surface.post(harness.place, Part(key="k", content=Card(request=request)))
    (card,) = bot_messages(harness.discord, thread_of(harness.asked))
    assert because in card.content
    assert "wants to use" not in card.content


async def test_a_choice_of_many_is_a_menu(harness: DiscordHarness) -> None:
    request = InputRequested(
        thread="t",
        request="0123456789ab",
        request_kind="choice",
        agent="solo",
        prompt="Which?",
        options=tuple(f"option {n}" for n in range(30)),
    )
    await harness.surface.post(harness.place, Part(key="k", content=Card(request=request)))
    (card,) = bot_messages(harness.discord, thread_of(harness.asked))
    shown = [
        option["label"] for menu in walk(card.components) for option in menu.get("options", ())
    ]
    assert shown == list(request.options)


async def test_a_files_name_leads_nowhere(harness: DiscordHarness) -> None:
    document = Document(files=(File(name="../../etc/pass\u202egnp.exe", data=b"x"),))
    await harness.surface.post(harness.place, Part(key="k", content=document))
    (posted,) = bot_messages(harness.discord, thread_of(harness.asked))
    assert posted.attachments[0].filename == "passgnp.exe"


async def test_the_same_key_again_says_what_it_says_now(harness: DiscordHarness) -> None:
    first = Part(key="k", content=Speech(agent="solo", text="One", growing=True))
    await harness.surface.post(harness.place, first)
    later = Part(key="k", content=Speech(agent="solo", text="One two."))
    await harness.surface.post(harness.place, later)
    assert bot_texts(harness.discord, thread_of(harness.asked)) == ["-# 🐺 **solo**\nOne two."]


async def test_a_title_is_given_only_where_it_is_another(harness: DiscordHarness) -> None:
    await harness.surface.rename(harness.place, "hello")
    await harness.surface.rename(harness.place, "bells")
    await harness.surface.rename(harness.place, "bells")
    renames = [
        call
        for call in harness.discord.calls("PATCH")
        if call.route == "/channels/{channel_id}" and "name" in call.body
    ]
    assert len(renames) == 1
    assert thread_of(harness.asked).name == "bells"


async def test_a_question_too_long_for_a_message_is_a_file_too(harness: DiscordHarness) -> None:
    question = "Which? " + "word " * 800
    request = InputRequested(
        thread="t", request="0123456789ab", request_kind="text", agent="solo", prompt=question
    )
    card = Card(request=request)
    message = await harness.surface.post(harness.place, Part(key="k", content=card))
    settled = Part(key="k", content=replace(card, outcome="This one.", by="Alice"))
    await harness.surface.edit(harness.place, message, settled)
    (shown,) = bot_messages(harness.discord, thread_of(harness.asked))
    assert "This one." in shown.content
    assert [each.content.decode() for each in shown.attachments] == [question]


@pytest.mark.parametrize("hooks", [True, False])
async def test_thumbs_are_gone_once_an_answer_goes_on(harness: DiscordHarness, hooks: bool) -> None:
    discord = harness.discord
    discord.allow(harness.channel, discord.bot, "manage_webhooks")
    webhooks = Webhooks(harness.rest, str(discord.bot.id)) if hooks else None
    surface = DiscordSurface(
        harness.rest, harness.targets, str(discord.bot.id), lambda: (), webhooks
    )
    surface.thumbs = True
    answer = Speech(agent="solo", text="One.")
    message = await surface.post(harness.place, Part(key="k", content=answer))
    assert ("/" in message) == hooks
    (shown,) = bot_messages(discord, thread_of(harness.asked))
    assert shown.components
    goes_on = replace(answer, text="One. Two.", last=False)
    await surface.edit(harness.place, message, Part(key="k", content=goes_on))
    assert (shown.components, "Two." in shown.content) == ([], True)


@pytest.mark.chaos
@pytest.mark.parametrize("late", [True, False], ids=["nonce forgotten", "nonce known"])
async def test_what_may_stand_there_twice_says_so_once_discord_knows_the_nonce_no_more(
    harness: DiscordHarness, tmp_path: Path, late: bool
) -> None:
    discord, clock = harness.discord, VirtualClock(time.time())
    surface = DiscordSurface(
        harness.rest, harness.targets, str(discord.bot.id), lambda: (), clock=clock.time
    )
    teams = ScriptedTeams(lambda: solo("All is well."))
    access = Access(harness.people)
    asked = InboundMessage(
        key=harness.place.key,
        author=Author(id=harness.people[0], name="alice"),
        text="hello",
        dedupe=(harness.place.key.dedupe("create", "1"),),
    )
    async with Gateway(new_store(tmp_path), teams, access=access) as gateway, surface:
        await harness.surface.post(harness.place, Part(key="first", content=Line(text="First.")))
        harness.lose_answer()
        await gateway.accept(asked)
        async with delivering(gateway.delivery, surface, clock=clock):
            await discord.until(lambda: sum(map(_is_post, discord.calls("POST"))) == 2, seconds=20)
            other = Part(key="other", content=Line(text="Meanwhile."))
            await harness.surface.post(harness.place, other)
            if late:
                discord.advance(NONCE_SECONDS + 60)
                clock.advance(NONCE_SECONDS + 60)
                for each in bot_messages(discord, thread_of(harness.asked)):
                    each.nonce = None  # nowhere does Discord promise nonces in a history
            async with asyncio.timeout(20):
                while await gateway.store.run(outbox.undelivered_threads, "discord"):
                    clock.advance(1.0)
                    await asyncio.sleep(0.01)
    first, answer, meanwhile, *again = bot_texts(discord, thread_of(harness.asked))
    assert (first, answer) == ("-# First.", "-# 🐺 **solo**\nAll is well.")
    assert meanwhile == "-# Meanwhile."
    assert again == ([f"-# 🐺 **solo**\nAll is well.\n{TWICE}"] if late else [])


@pytest.mark.parametrize(
    "text",
    [
        "~~~\n[your bank](https://evil.example)\n~~~",
        "````\n```\n[your bank](https://evil.example)\n````",
        "```\ncode ``` [your bank](https://evil.example)\n```",
        "\\`[your bank](https://evil.example)`",
        "```\n```[your bank](https://evil.example)",
    ],
)
async def test_what_is_code_elsewhere_and_text_on_discord_hides_no_address(
    harness: DiscordHarness, text: str
) -> None:
    speech = Speech(agent="solo", text=harness.surface.neutral(text))
    await harness.surface.post(harness.place, Part(key="k", content=speech))
    (shown,) = bot_texts(harness.discord, thread_of(harness.asked))
    bare = re.sub(r"```.*?```|`[^`]*`", "", shown, flags=re.DOTALL)  # as Discord reads it
    assert "](" not in bare.replace("](https://evil.example) (evil.example)", "")
    assert "https://evil.example" in shown


@pytest.mark.parametrize(
    "text",
    [
        "words " * 220 + "done. -# \u2713 drop \u00b7 approved " + "more words " * 120,
        "abc ``` def\n\n```\n-# \u2713 drop\n```",
        "- ```\n  a\nout\n\n```\n-# \u2713 drop\n```",
        "| | b |\n|---|---|\n| -# \u2713 drop | https://a.example |",
    ],
)
async def test_no_cut_and_no_fence_makes_small_print(harness: DiscordHarness, text: str) -> None:
    surface = harness.surface
    for n, piece in enumerate(split(surface.neutral(text), limit=surface.limits.message)):
        speech = Speech(agent="solo", text=piece.text, first=n == 0)
        await surface.post(harness.place, Part(key=f"k{n}", content=speech))
    shown = "\n".join(bot_texts(harness.discord, thread_of(harness.asked)))
    assert "drop" in shown
    assert not re.search(r"^[ >-]*-# \u2713", shown, re.MULTILINE)


async def test_who_came_stands_above_and_who_is_next_below(harness: DiscordHarness) -> None:
    handed = [
        ("h1", "ann \u2192 bob"),
        ("h2", "bob \u2192 cy"),
        ("h3", "dan"),
        ("h4", "dan \u2192 cy"),
    ]
    hand_offs = [Activity(id=id, kind="handoff", title=title) for id, title in handed]
    tool = Activity(id="t", kind="tool", title="search")
    speech = Speech(agent="cy", text="Here.", activity=(*hand_offs[:2], tool, *hand_offs[2:]))
    await harness.surface.post(harness.place, Part(key="k", content=speech))
    (shown,) = bot_texts(harness.discord, thread_of(harness.asked))
    assert shown.splitlines() == [
        "-# 🐶 **cy**",
        "-# ann \u2192 bob \u00b7 bob \u2192 cy",
        "-# \u2713 search",
        "Here.",
        "-# \u2192 dan \u00b7 dan \u2192 cy",
    ]


async def test_links_are_dead_while_the_text_grows_and_live_at_its_end(
    harness: DiscordHarness,
) -> None:
    text = harness.surface.neutral("See [it](https://a.example/x), https://b.example/y. `</div>`")
    growing = Speech(agent="solo", text=text, growing=True)
    part = Part(key="k", content=growing)
    message = await harness.surface.post(harness.place, part)
    place = thread_of(harness.asked)
    assert bot_texts(harness.discord, place) == [
        "-# 🐺 **solo**\nSee it (`https://a.example/x`), `https://b.example/y`. `</div>`"
    ]
    await harness.surface.edit(
        harness.place, message, replace(part, content=replace(growing, growing=False))
    )
    assert bot_texts(harness.discord, place) == [
        "-# 🐺 **solo**\nSee [it](https://a.example/x) (a.example), https://b.example/y. `</div>`"
    ]
    (shown,) = bot_messages(harness.discord, place)
    assert shown.flags & SUPPRESS_EMBEDS


@pytest.mark.parametrize("code", ["`calls[0](x)`", "```py\ncalls[0](x)\n```"])
async def test_code_stays_as_it_is(harness: DiscordHarness, code: str) -> None:
    speech = Speech(agent="solo", text=harness.surface.neutral(code))
    await harness.surface.post(harness.place, Part(key="k", content=speech))
    assert bot_texts(harness.discord, thread_of(harness.asked)) == [f"-# 🐺 **solo**\n{code}"]


async def test_a_refused_rename_does_not_keep_a_thread_from_being_opened_again(
    harness: DiscordHarness,
) -> None:
    for title in ("one", "two", "three"):
        await harness.surface.rename(harness.place, title)
    thread = thread_of(harness.asked)
    assert thread.name == "two"
    message = await harness.surface.post(harness.place, Part(key="k", content=Line(text="Here.")))
    harness.discord.archive(thread)
    there = Part(key="k", content=Line(text="There."))
    await harness.surface.edit(harness.place, message, there)  # no message that reopens it
    assert bot_texts(harness.discord, thread)[-1] == "-# There."
    assert not thread.archived
