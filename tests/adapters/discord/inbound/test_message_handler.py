"""Messages' extras: files, forwards, replies, edits, deletions, other bots."""

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest

from adapters.discord.inbound import message_handler
from adapters.discord.testing import Delay, DiscordSimulator, ServerError
from gateway.config.routes import Mention, Route
from gateway.config.settings import Attachments
from gateway.conversation import ConversationKey, MissingFile, Place, place_mark
from gateway.gateway import Limits
from tests.adapters.discord.hosting import hosted
from tests.adapters.discord.serving import (
    EVERYWHERE,
    bell_teams,
    bot_messages,
    bot_texts,
    config_of,
    serving,
    thread_of,
    wait_accepted,
    wait_card,
    wait_commands,
    wait_delivered,
)
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.tested_store import rows_in
from tests.gateway.content.made_documents import XLSX, xlsx
from tests.gateway.scripted import solo
from tests.pairwise import pairwise

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8cfc000000301010018dd8db00000000049454e44ae426082"
)


async def test_text_files_and_pictures_reach_the_team(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    model = ScriptedModel("I see.", vision=True)
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        asked = await alice.mentions(
            general,
            "look",
            files=[("notes.txt", b"buy milk", "text/plain"), ("dot.png", PNG, "image/png")],
        )
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        await wait_delivered(gateway)
    sent = str(model.messages())
    assert "buy milk" in sent
    assert "iVBOR" in sent


async def test_a_thread_knows_its_channel_by_name(discord: DiscordSimulator) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with hosted(discord) as run:
        await alice.mentions(general, "hello")
        [taken] = await run.taken(1)
        mark = "discord", place_mark(taken.message.key)
        await run.until(lambda: mark in run.host.marks.kept)
    assert Place.load(run.host.marks.kept[mark]) == Place(name="#general")


async def test_a_file_that_is_not_taken_is_told_of(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice, model = discord.person("alice"), ScriptedModel("I see.", "So it is.")
    limits = Limits(attachments=Attachments(file_mb=0.001, types=["text/*"]))
    async with serving(discord, tmp_path, partial(solo, model), limits=limits) as gateway:
        program = ("tool.exe", b"MZ\x90\x00\xff\xfe", "application/x-msdownload")
        for n, file in enumerate((program, ("all.txt", b"x" * 2000, "text/plain")), 1):
            await alice.says(alice.direct, "read it", files=[file])
            await discord.until(lambda n=n: len(model.requests) == n)
            await wait_delivered(gateway)
    texts = bot_texts(discord, alice.direct)
    for name in ("tool.exe", "all.txt"):
        assert any(f"'{name}' did not reach the team" in text for text in texts)
        assert f"The file '{name}' is not shown to you" in str(model.requests)
    assert discord.calls("GET", "/attachments/") == []


async def test_a_file_that_the_team_cannot_take_is_named_to_team_and_author(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice, model = discord.person("alice"), ScriptedModel("I see.")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        audio = ("talk.mp3", b"ID3\x04\0\xff\xfb", "audio/mpeg")
        await alice.says(alice.direct, "listen", files=[audio])
        await discord.until(lambda: len(bot_texts(discord, alice.direct)) >= 2)
        await wait_delivered(gateway)
    why = "the file type audio/mpeg can't be read here"
    told = f"The file 'talk.mp3' did not reach the team: {why}."
    assert sum(told in text for text in bot_texts(discord, alice.direct)) == 1
    assert f"(The file 'talk.mp3' is not shown to you: {why}.)" in "".join(model.texts())


@pytest.mark.timeout(60)
async def test_a_document_reaches_the_team_as_text(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice, model = discord.person("alice"), ScriptedModel("I see.")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        sent = ("costs.xlsx", xlsx([["Item", "Price"], ["Bread", "3"]]), XLSX)
        await alice.says(alice.direct, "read it", files=[sent])
        # On a busy machine it is told first that the turn waits for its files.
        await discord.until(
            lambda: "I see." in "".join(bot_texts(discord, alice.direct)), seconds=40
        )
        await wait_delivered(gateway)
    assert "| Bread | 3 |" in "".join(model.texts())


async def test_a_message_is_stored_before_its_files_are_read(discord: DiscordSimulator) -> None:
    alice, go_on = discord.person("alice"), asyncio.Event()
    slow = discord.faults.plan(Delay(until=go_on), path="/attachments/")
    async with hosted(discord) as run:
        await alice.says(alice.direct, "look", files=[("a.txt", b"buy milk", "text/plain")])
        await alice.says(alice.direct, "and hurry")
        await run.until(lambda: slow.times == 0)
        first, _ = await run.taken(2)
        assert not first.brought
        go_on.set()
        await run.complete(2)
    assert "buy milk" in first.given


async def test_who_is_answered_is_told_which_file_could_not_be_read(
    discord: DiscordSimulator,
) -> None:
    alice = discord.person("alice")
    discord.faults.plan(ServerError(503), path="/attachments/", times=-1)
    async with hosted(discord) as run:
        await alice.says(alice.direct, "look", files=[("a.txt", b"buy milk", "text/plain")])
        [taken] = await run.complete(1)
    assert taken.missing == [MissingFile(name="a.txt", why="Discord did not deliver it")]
    assert taken.files == []


async def test_an_address_that_has_expired_is_asked_for_anew(discord: DiscordSimulator) -> None:
    alice = discord.person("alice")
    async with hosted(discord) as run:
        await alice.says(alice.direct, "look", files=[("a.txt", b"buy milk", "text/plain")])
        discord.advance(25 * 3600)
        [taken] = await run.complete(1)
    assert [file.data for file in taken.files] == [b"buy milk"]


async def test_a_forward_and_a_reply_are_somebody_elses_words(discord: DiscordSimulator) -> None:
    general, alice, bob = discord.channel("general"), discord.person("alice"), discord.person("bob")
    async with hosted(discord) as run:
        claim = await bob.says(general, "the moon is cheese")
        await alice.mentions(general, "is that so?", reply_to=claim)
        await run.taken(1)
        await alice.forwards(claim, alice.direct)
        taken = await run.taken(2)
    quotes = [quote for each in taken for quote in each.message.quotes]
    assert [quote.kind for quote in quotes] == ["quote", "forward"]
    assert all("the moon is cheese" in quote.text for quote in quotes)
    assert [each.message.text for each in taken] == ["is that so?", ""]


def kinds_of_quotes(folder: Path) -> list[str]:
    """The kinds of the quotes in the store, in order."""
    rows = rows_in(folder, "SELECT quotes FROM inbox ORDER BY id")
    return [quote["kind"] for (quotes,) in rows for quote in json.loads(quotes)]


async def test_nobody_vouches_for_the_words_of_a_guest(discord: DiscordSimulator) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    gus = discord.person("gus", guest=True)
    async with hosted(discord) as run:
        claim = await gus.says(general, "delete everything")
        await alice.mentions(general, "is that right?", reply_to=claim)
        [taken] = await run.taken(1)
    [quote] = taken.message.quotes
    assert (quote.author.lower(), quote.verified) == ("gus", False)


async def test_mentions_are_read_as_names(discord: DiscordSimulator) -> None:
    general, alice, bob = discord.channel("general"), discord.person("alice"), discord.person("bob")
    async with hosted(discord) as run:
        await alice.mentions(general, f"tell {bob.mention} in <#{general.id}>")
        [taken] = await run.taken(1)
    assert taken.given.replace("@bob", "@Bob") == "tell @Bob in #general"


async def test_an_edit_and_a_deletion_reach_what_still_waits(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice, go_on = discord.person("alice"), asyncio.Event()
    model = ScriptedModel(["One ", go_on, "."], "Two.", "Three.")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        await alice.says(alice.direct, "first")
        await model.asked()
        second = await alice.says(alice.direct, "secnd")
        third = await alice.says(alice.direct, "third")
        await alice.edits(second, "second, corrected")
        await alice.deletes(third)
        discord.unfurl(second, title="A preview", url="https://example.org")
        await wait_accepted(gateway, 5)
        go_on.set()
        await discord.until(lambda: len(bot_texts(discord, alice.direct)) >= 2)
        await wait_delivered(gateway)
    asked = "".join(model.texts())
    assert "second, corrected" in asked
    assert "third" not in asked
    assert len(model.requests) == 2


@pytest.mark.parametrize("others", [False, True])
async def test_a_question_deleted_during_its_answer_ends_that_or_offers_to(
    discord: DiscordSimulator, tmp_path: Path, others: bool
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    model = ScriptedModel(["It ", asyncio.Event(), "is."])
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        asked = await alice.mentions(general, "what is it?")
        await model.asked()
        await discord.until(lambda: asked.thread)
        thread = thread_of(asked)
        if others:
            await discord.person("bob").says(thread, "!status")
            await wait_accepted(gateway, 2)
        await alice.deletes(asked)
        if others:
            await discord.until(lambda: "works on was deleted" in str(bot_texts(discord, thread)))
            offer = bot_messages(discord, thread)[-1]
            await discord.answered(await alice.clicks(offer, "Stop"))
        told = "Stopped." if others else "Stopped: its message was deleted."
        await discord.until(lambda: told in str(bot_texts(discord, thread)))
        await wait_delivered(gateway)


async def test_an_edit_fetches_no_file_again(discord: DiscordSimulator, tmp_path: Path) -> None:
    alice, go_on = discord.person("alice"), asyncio.Event()
    model = ScriptedModel(["One ", go_on, "."], "Two.")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        await alice.says(alice.direct, "first")
        await model.asked()
        said = await alice.says(
            alice.direct, "secnd", files=[("notes.txt", b"buy milk", "text/plain")]
        )
        await discord.until(lambda: discord.calls("GET", "/attachments/"))
        await alice.edits(said, "second")
        await wait_accepted(gateway, 3)
        go_on.set()
        await model.asked(2)
        await wait_delivered(gateway)
    assert "second" in "".join(model.texts())
    assert "buy milk" in str(model.messages())
    assert len(discord.calls("GET", "/attachments/")) == 1


async def test_a_deletion_in_a_chain_of_replies_reaches_what_still_waits(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice, go_on = discord.channel("general"), discord.person("alice"), asyncio.Event()
    model = ScriptedModel("One.", ["Two ", go_on, "."], "Three.")
    config = config_of(discord, threads="none")
    async with serving(discord, tmp_path, partial(solo, model), config=config) as gateway:
        await alice.mentions(general, "first")
        (answer,) = await discord.until(lambda: bot_messages(discord, general))
        await alice.says(general, "second", reply_to=answer)
        await model.asked(2)
        third = await alice.says(general, "third", reply_to=answer)
        await wait_accepted(gateway, 3)
        await alice.deletes(third)
        await wait_accepted(gateway, 4)
        go_on.set()
        await discord.until(lambda: len(bot_messages(discord, general)) == 2)
        await wait_delivered(gateway)
    assert len(model.requests) == 2
    assert "third" not in "".join(model.texts())


async def test_another_bot_is_heard_only_where_a_route_names_it(discord: DiscordSimulator) -> None:
    general = discord.channel("general")
    friend, stranger = discord.person("friend", bot=True), discord.person("stranger", bot=True)
    route = Route(adapter="discord", channels=["*"], users=["members"], bots=[str(friend.id)])
    async with hosted(discord, routes=[route]) as run:
        await stranger.mentions(general, "hi")
        await friend.mentions(general, "hi")
        await run.until(lambda: run.host.turns)
    assert [each.message.author.id for each in run.host.turns] == [f"discord:{friend.id}"]


# What the pairs leave out runs with the chaos tests.


async def test_a_thread_that_waits_for_an_answer_stays_open(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    operators = [f"discord:{alice.id}"]
    async with serving(discord, tmp_path, bell_teams(), operators=operators) as gateway:
        asked = await alice.mentions(general, "ring it")
        await discord.until(lambda: asked.thread)
        card = await wait_card(discord, thread_of(asked))
        await wait_delivered(gateway)
        discord.archive(thread_of(asked))
        await discord.until(lambda: not thread_of(asked).archived)
        await discord.answered(await alice.clicks(card, "Deny"))
        await discord.until(lambda: not card.components)
        await wait_delivered(gateway)
        discord.archive(thread_of(asked))
        await alice.says(alice.direct, "/status")
        await discord.until(lambda: bot_texts(discord, alice.direct))
    assert thread_of(asked).archived


def people(discord: DiscordSimulator) -> dict:
    """One of each kind, by who they are to the routes."""
    return {
        "operator": discord.person("olga"),
        "allowed": discord.person("alice"),
        "unlisted": discord.person("uma"),
        "outsider": discord.person("otto", member=False),
        "bot": discord.person("robot", bot=True),
    }


WHO = {"let in": ("operator", "allowed"), "kept out": ("unlisted", "bot")}


# What the pairs leave out runs with the chaos tests.
@pairwise(
    what=["mention", "message", "slash", "menu", "edit", "stop", "file"], of=WHO, number=[0, 1]
)
async def test_only_whom_a_route_lets_in_reaches_a_model(
    what: str, of: tuple[str, str], number: int, discord: DiscordSimulator
) -> None:
    who = of[number]
    everybody, general = people(discord), discord.channel("general")
    person, alice = everybody[who], everybody["allowed"]
    route = Route(adapter="discord", channels=["*"], users=[str(alice.id)])
    operators = [f"discord:{everybody['operator'].id}"]
    async with hosted(discord, routes=[route], operators=operators) as run:
        await wait_commands(discord)
        asked = await alice.mentions(general, "begin")
        await run.taken(1)
        thread = await alice.starts_thread(asked, "begin")
        match what:
            case "mention":
                await person.mentions(general, "hello")
            case "message":
                await person.says(thread, "hello")
            case "slash":
                await discord.answered(await person.slash(general, "ask", text="hello"))
            case "menu":
                await discord.answered(await person.menu(asked, "Ask the team"))
            case "edit":
                message = await person.says(general, "hm")
                await person.edits(message, f"{discord.bot.mention} hello")
            case "stop":
                await discord.answered(await person.slash(thread, "stop"))
            case _:
                await person.says(thread, "see", files=[("a.txt", b"hello", "text/plain")])
        silent = what == "stop" or who in ("unlisted", "bot")
        if not silent:
            await run.until(lambda: len(run.host.turns) == 2)
        last = await alice.says(thread, "/status")
        await run.until(lambda: any(each.referenced is last for each in discord.messages(thread)))
    assert len(run.host.turns) == (1 if silent else 2)
    if who == "unlisted":
        assert discord.calls("GET", "/attachments/") == []


async def test_an_outsider_in_a_direct_message_is_no_member(discord: DiscordSimulator) -> None:
    otto, alice = people(discord)["outsider"], discord.person("alice")
    async with hosted(discord) as run:
        await otto.says(otto.direct, "let me in")
        await run.until(lambda: bot_texts(discord, otto.direct))
        await alice.says(alice.direct, "hello")
        await run.until(lambda: run.host.turns)
    assert bot_texts(discord, otto.direct) == ["You may not write to this team."]
    assert [each.message.text for each in run.host.turns] == ["hello"]


async def test_a_role_of_a_server_counts_in_direct_messages_too(discord: DiscordSimulator) -> None:
    helpers = discord.role("helpers")
    alice, bob = discord.person("alice", roles=[helpers]), discord.person("bob")
    route = Route(adapter="discord", dm=True, roles=[str(helpers.id)])
    async with hosted(discord, routes=[route]) as run:
        await bob.says(bob.direct, "hello")
        await run.taken(1)
        await alice.says(alice.direct, "hello")
        await run.taken(2)
    assert [each.message.author.id for each in run.host.turns] == [f"discord:{alice.id}"]


async def test_a_long_answer_is_its_beginning_and_a_file(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice = discord.person("alice")
    text = "\n\n".join(f"Paragraph {n}. " + "word " * 60 for n in range(60))
    async with serving(discord, tmp_path, lambda: solo(text)) as gateway:
        await alice.says(alice.direct, "tell me all")
        await discord.until(
            lambda: any(each.attachments for each in discord.messages(alice.direct))
        )
        await wait_delivered(gateway)
    shown = [each for each in discord.messages(alice.direct) if each.application]
    assert len(shown) <= 4
    assert shown[-1].attachments[0].content.decode() == text
    # Somebody may write between them, so each says whose it is.
    names = [each.content.partition("\n")[0] for each in shown[:-1]]
    assert names == ["-# 🐺 **solo**", *["-# 🐺 **solo**, continued"] * (len(names) - 1)]
    assert len(names) > 1


async def test_who_calls_the_team_into_a_thread_brings_what_was_said_there(
    discord: DiscordSimulator,
) -> None:
    general, alice, bob = discord.channel("general"), discord.person("alice"), discord.person("bob")
    async with hosted(discord) as run:
        started = await alice.says(general, "the server is down")
        thread = await alice.starts_thread(started, "outage")
        await bob.says(thread, "since noon")
        await alice.mentions(thread, "why?")
        await run.taken(1)
        await alice.says(thread, "and now?")
        first, second = (each.message for each in await run.taken(2))
    assert [each.text for each in first.quotes] == ["the server is down", "since noon"]
    assert first.quotes[1].author == "Bob"
    assert (first.text, second.text, second.quotes) == ("why?", "and now?", ())
    assert first.key == second.key


async def test_a_thread_that_another_node_has_begun_is_known_some_seconds_later(
    discord: DiscordSimulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_handler, "UNKNOWN_SECONDS", 0.0)
    general, alice = discord.channel("general"), discord.person("alice")
    async with hosted(discord) as run:
        started = await alice.says(general, "the server is down")
        thread = await alice.starts_thread(started, "outage")
        await alice.says(thread, "since noon")
        await run.until(lambda: run.host.health.ignored["not addressed"] > 1)
        assert general.guild
        run.host.conversations.begin(
            ConversationKey(
                platform="discord",
                workspace=str(general.guild.id),
                channel=str(general.id),
                root=str(thread.id),
            )
        )
        await alice.says(thread, "and now?")
        [taken] = await run.taken(1)
    assert (taken.receipt.outcome, taken.message.text) == ("turn", "and now?")


async def test_a_thread_that_can_not_be_read_keeps_nobody_from_an_answer(
    discord: DiscordSimulator,
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    started = await alice.says(general, "the server is down")
    thread = await alice.starts_thread(started, "outage")
    discord.faults.plan(
        ServerError(503), method="GET", path="/channels/{channel_id}/messages", times=-1
    )
    async with hosted(discord) as run:
        await alice.mentions(thread, "why?")
        [taken] = await run.taken(1)
    assert (taken.receipt.outcome, taken.message.text) == ("turn", "why?")


async def test_an_edit_that_adds_the_forgotten_mention_calls_the_team_once(
    discord: DiscordSimulator,
) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with hosted(discord) as run:
        asked = await alice.says(general, "why?")
        await alice.edits(asked, f"{discord.bot.mention} why?")
        await run.taken(1)
        await alice.edits(asked, f"{discord.bot.mention} why not?")
        await alice.says(alice.direct, "psst")
        await run.taken(3)
    assert [each.message.text for each in run.host.turns] == ["why?", "psst"]


@pytest.mark.parametrize("others", ["ignore", "answer"])
async def test_what_mentions_only_somebody_else_is_not_for_the_team(
    discord: DiscordSimulator, tmp_path: Path, others: str
) -> None:
    general, alice, bob = discord.channel("general"), discord.person("alice"), discord.person("bob")
    route = Route.model_validate({**EVERYWHERE.model_dump(), "others_mentioned": others})
    model = ScriptedModel(*["I see."] * 9)
    async with serving(discord, tmp_path, partial(solo, model), routes=[route]) as gateway:
        asked = await alice.mentions(general, "one")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        thread = thread_of(asked)
        await bob.says(thread, f"<@{alice.id}> shall we?")
        answer = bot_messages(discord, thread)[0]
        await bob.says(thread, f"what does <@{alice.id}> say?", reply_to=answer)
        await wait_accepted(gateway, 2 + (others == "answer"))
        await bob.mentions(thread, f"tell <@{alice.id}>")
        await wait_accepted(gateway, 3 + (others == "answer"))
        await wait_delivered(gateway)
        ignored = gateway.vitals.ignored["not addressed"]
    assert ignored == (others == "ignore")
    assert ("shall we?" in str(model.requests)) == (others == "answer")
    assert "what does @Alice say?" in str(model.requests)
    assert "tell @Alice" in str(model.requests)


@pytest.mark.parametrize("mention", ["thread", "always"])
async def test_a_muted_thread_is_silent_until_it_is_unmuted(
    discord: DiscordSimulator, tmp_path: Path, mention: Mention
) -> None:
    general, alice, bob = discord.channel("general"), discord.person("alice"), discord.person("bob")
    model = ScriptedModel(*["I see."] * 9)
    routes = [EVERYWHERE.model_copy(update={"mention": mention})]
    async with serving(discord, tmp_path, partial(solo, model), routes=routes) as gateway:
        await wait_commands(discord)
        asked = await alice.mentions(general, "one")
        await discord.until(lambda: asked.thread and bot_texts(discord, asked.thread))
        thread = thread_of(asked)
        await alice.slash(thread, "mute")
        await discord.until(lambda: "is muted" in str(bot_texts(discord, thread)))
        await bob.says(thread, "to alice alone")
        await bob.mentions(thread, "two")
        await wait_accepted(gateway, 3)
        await wait_delivered(gateway)
        await alice.slash(thread, "unmute")
        await discord.until(lambda: "no longer muted" in str(bot_texts(discord, thread)))
        await bob.says(thread, "three")
        await wait_accepted(gateway, 5)
        await wait_delivered(gateway)
        assert gateway.vitals.ignored["not addressed"] == 1
    assert "to alice alone" not in str(model.requests)
    assert "three" in str(model.messages())


WAVE = {"id": "1", "name": "Wave", "format_type": 1}


@pytest.mark.parametrize(
    ("text", "stickers"), [("{bot}", []), ("{bot} , ", []), ("{bot}", [WAVE]), ("", [WAVE])]
)
async def test_who_says_nothing_is_told_what_can_be_said(
    discord: DiscordSimulator, text: str, stickers: list[dict[str, object]]
) -> None:
    alice = discord.person("alice")
    channel = discord.channel("general") if text else alice.direct
    async with hosted(discord) as run:
        said = text.format(bot=discord.bot.mention)
        asked = await alice.says(channel, said, sticker_items=stickers)
        await run.until(lambda: bot_texts(discord, channel))
    [reply] = bot_messages(discord, channel)
    assert "/stop" in reply.content
    assert reply.referenced is asked
    assert run.host.turns == []


async def test_a_sticker_among_others_asks_nobody(discord: DiscordSimulator) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with hosted(discord) as run:
        asked = await alice.mentions(general, "hello")
        await run.taken(1)
        thread = await alice.starts_thread(asked, "hello")
        await alice.says(thread, sticker_items=[WAVE])
        await alice.says(thread, "and now", sticker_items=[WAVE])
        await run.taken(2)
    first, second = run.host.turns
    assert first.message.message_id == str(asked.id)
    assert "and now" in second.message.text
    assert second.given.count("(sticker: Wave)") == 1


async def test_a_sticker_in_reply_to_the_team_is_an_answer(
    discord: DiscordSimulator, tmp_path: Path
) -> None:
    alice, model = discord.person("alice"), ScriptedModel("Shall I?", "Then I do.")
    async with serving(discord, tmp_path, partial(solo, model)) as gateway:
        await alice.says(alice.direct, "hello")
        await discord.until(lambda: bot_texts(discord, alice.direct))
        [asked] = bot_messages(discord, alice.direct)
        await alice.says(alice.direct, sticker_items=[WAVE], reply_to=asked)
        await discord.until(lambda: len(bot_texts(discord, alice.direct)) == 2)
        await wait_delivered(gateway)
    assert "(sticker: Wave)" in "".join(model.texts(1))


async def test_a_bare_mention_asks_about_what_it_points_at(discord: DiscordSimulator) -> None:
    general, alice = discord.channel("general"), discord.person("alice")
    async with hosted(discord) as run:
        claim = await alice.says(general, "the moon is cheese")
        await alice.says(general, discord.bot.mention, reply_to=claim)
        await run.taken(1)
        thread = await alice.starts_thread(claim, "moon")
        await alice.says(thread, "who eats it?")
        await alice.says(thread, discord.bot.mention)
        first, second = await run.taken(2)
    assert run.host.turns == [first, second]
    assert "the moon is cheese" in first.given
    assert "who eats it?" in second.given
