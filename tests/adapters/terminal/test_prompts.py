"""Prompts of the person: files that are commands, in both modes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from adapters.terminal.commands import LOCAL, Commands
from adapters.terminal.prompts import LONGEST, MOST, find_prompts
from gateway.client import CommandInfo
from gateway.errors import GatewayError
from gateway.inbound.commands import command_infos, parse_command
from tests.adapters.terminal.running import began, chatting, ended
from tests.adapters.terminal.test_plain import Team, chat
from tests.fakes.scripted_client import ScriptedClient


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "etc"))
    folder = tmp_path / "etc" / "parley" / "prompts"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize(
    ("text", "arguments", "expanded"),
    [
        ("Review this.", "", "Review this."),
        ("Review this.\n", "x.py", "Review this.\n\nx.py"),
        ("Review $ARGUMENTS, and test $ARGUMENTS.", "x.py", "Review x.py, and test x.py."),
        ("Review $ARGUMENTS", "", "Review"),
        ("Review $ARGUMENTS", "$ARGUMENTS", "Review $ARGUMENTS"),
        ("Review $ARGUMENTS", r"\1 \g<0>", r"Review \1 \g<0>"),
        ("Cost: $1, $ARGS", "x\ny", "Cost: $1, $ARGS\n\nx\ny"),
        ("\ufeffÄ", "", "Ä"),
    ],
)
def test_arguments_have_their_place_or_follow(
    folder: Path, text: str, arguments: str, expanded: str
) -> None:
    (folder / "review.md").write_text(text, encoding="utf-8")
    assert find_prompts(()).usable["review"].expanded(arguments) == expanded


@pytest.mark.parametrize(
    ("name", "make", "why"),
    [
        ("new", lambda path: path.write_text("x"), "/new is a command"),
        ("Über", lambda path: path.write_text("x"), "a name has up to 40 letters"),
        ("a b", lambda path: path.write_text("x"), "a name has up to 40 letters"),
        ("x\x1b[31m", lambda path: path.write_text("x"), "a name has up to 40 letters"),
        ("x" * 41, lambda path: path.write_text("x"), "a name has up to 40 letters"),
        ("long", lambda path: path.write_text("x" * (LONGEST + 1)), "more than 64,000 bytes"),
        ("latin", lambda path: path.write_bytes(b"\xfc"), "it is not UTF-8 text"),
        ("pipe", os.mkfifo, "it is a pipe, not a file"),
        ("folder", Path.mkdir, "it is a folder, not a file"),
        ("gone", lambda path: path.symlink_to("nowhere"), "No such file"),
    ],
)
def test_what_is_no_prompt_is_named_with_the_reason(
    folder: Path, name: str, make: Any, why: str
) -> None:
    make(folder / f"{name}.md")
    (folder / "good.md").write_text("# A good one\n\nDo it.")
    (folder / "other.txt").write_text("x")
    found = find_prompts(("new",))
    assert {each: prompt.description for each, prompt in found.usable.items()} == {
        "good": "A good one"
    }
    [trouble] = found.troubles
    assert trouble.isprintable()
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(trouble)


def test_there_may_be_no_folder_and_too_many_files(folder: Path) -> None:
    for number in range(MOST + 1):
        (folder / f"p{number}.md").touch()
    assert len(find_prompts(()).usable) == MOST
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    assert find_prompts(()) == ({}, [])


async def test_commands_win_and_each_trouble_is_told_once(folder: Path) -> None:
    for name in ("review", "new", "approve", "adopt", "compact"):
        (folder / f"{name}.md").write_text("Do it.")
    commands = Commands([CommandInfo(name="compact", description="summarise")])
    told = await commands.find_prompts()
    assert [each.split("'")[1] for each in told] == [
        "adopt.md",
        "approve.md",
        "compact.md",
        "new.md",
    ]
    assert await commands.find_prompts() == []
    assert [each.name for each in commands][len(LOCAL) :] == ["compact", "review"]
    assert [each.description for each in commands.matching("/revie")] == ["Do it."]
    assert await commands.expanded("/new x") == "/new x"
    assert await commands.expanded("/REVIEW x y") == "Do it.\n\nx y"
    assert [await commands.expanded(each) for each in ("review", "/", "/reviews")] == [
        *("review", "/", "/reviews")
    ]
    (folder / "review.md").unlink()
    with pytest.raises(GatewayError, match=r"The prompt 'review.md' can't be used: No such file"):
        await commands.expanded("/review")


@pytest.mark.parametrize(
    "text", ["/etc holds settings.", "/quit", "!stop", "/approve 0123456789ab", "/usr\nand more"]
)
async def test_a_prompt_is_no_command_whatever_it_begins_with(folder: Path, text: str) -> None:
    (folder / "look.md").write_text(text)
    commands = Commands(command_infos())
    await commands.find_prompts()
    expanded = await commands.expanded("/look")
    assert parse_command(text) is not None
    assert parse_command(expanded) is None
    assert expanded == f"look:\n\n{text}"


async def test_the_line_mode_sends_a_prompt_and_helps(folder: Path) -> None:
    (folder / "review.md").write_text("Review $ARGUMENTS carefully.")
    (folder / "quit.md").write_text("x")
    client = Team([began("Review x.py carefully."), ended()])
    _, out, err = await chat(client, "/help", "/review x.py")
    assert [text for _, text in client.sent] == ["Review x.py carefully."]
    assert "/review arguments: Review $ARGUMENTS carefully." in out
    assert "The prompt 'quit.md' can't be used: /quit is a command." in err


@pytest.mark.timeout(60)
async def test_the_palette_offers_prompts_of_now_and_sends_their_text(
    folder: Path, tmp_path: Path
) -> None:
    client = ScriptedClient()
    async with chatting(client, tmp_path) as running:
        (folder / "review.md").write_text("# Review code\n\nReview $ARGUMENTS carefully.")
        (folder / "stop.md").write_text("x")
        await running.type("/")
        await running.until_shown("The prompt 'stop.md' can't be used: /stop is a command.")
        running.composer.clear()
        await running.press("/", "r", "e", "v")
        await running.until_shown("▸ /review arguments", "Review code")
        await running.press("tab")
        assert running.composer.text == "/review "
        await running.type("x.py")
        await running.until(lambda: client.sent)
        assert [text for _, text in client.sent] == ["# Review code\n\nReview x.py carefully."]
        (folder / "review.md").write_bytes(b"\xff")
        await running.type("/review y.py")
        await running.until_shown("it is not UTF-8 text")
        assert running.composer.text == "/review y.py"
