"""Commands that people can type."""

import pytest

from gateway.client import Answer
from gateway.conversation import LOCAL_OPERATOR
from gateway.inbound.commands import Command, command_infos, parse_command
from gateway.store.decisions import CommandReply
from tests.gateway.inbound.situations import OPEN, meaning, situation


def test_what_is_no_id_approves_nothing():
    found = meaning("/approve deadbeef", situation(OPEN), LOCAL_OPERATOR)
    assert found == CommandReply(reply=f"Say which one: {OPEN.id}.")


@pytest.mark.parametrize(
    ("text", "suggested"),
    [
        ("/nonsense", ""),
        ("!foo", ""),
        ("!stpo", " Did you mean '/stop'?"),
        ("/STAUTS please", " Did you mean '/status'?"),
        ("!aprove 000000000002", " Did you mean '/approve'?"),
    ],
)
def test_an_unknown_command_is_answered_with_those_that_exist(text, suggested):
    found = meaning(text, situation())
    assert isinstance(found, CommandReply)
    name = text[1:].split()[0].lower()
    assert found.reply.startswith(
        f"There is no command '{name}'.{suggested} The commands are /new, /stop, "
    )
    assert all(f"/{info.name}" in found.reply for info in command_infos())


def test_help_names_every_command():
    found = meaning("/help", situation())
    assert isinstance(found, CommandReply)
    usages = [f"/{info.name} {info.argument}".rstrip() for info in command_infos()]
    described = zip(usages, command_infos(), strict=True)
    lines = [f"{usage}  {info.description}" for usage, info in described]
    assert found.reply.splitlines() == lines
    assert "/revoke TOOL  withdraw the approval of a tool" in lines


@pytest.mark.parametrize(
    "text",
    [
        "stop",
        "/usr/bin is missing",
        "approve the budget",
        "deny everything",
        "1/2",
        "",
        "a /stop",
        "!",
        "!!!",
        "! stop",
        "!important: read this",
        "!important things come first",
        "!use this text",
        "!= is an operator",
    ],
)
def test_ordinary_text_is_no_command(text):
    assert parse_command(text) is None


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("/stop", "stop", ""),
        ("!Queue drop 3", "queue", "drop 3"),
        (" /model small ", "model", "small"),
    ],
)
def test_a_command_has_a_name_and_words(text: str, name: str, words: str) -> None:
    assert parse_command(text) == Command(name=name, words=words)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("/approve", Answer(kind="approve")),
        ("/approve always", Answer(kind="approve_always")),
        ("/deny too dear", Answer(kind="deny", text="too dear")),
        ("/approve tomorrow", None),
        ("/approve 000000000002", None),
        ("/stop", None),
    ],
)
def test_a_verdict_that_names_no_request_is_an_answer(text: str, verdict: Answer | None) -> None:
    command = parse_command(text)
    assert command is not None
    assert command.verdict == verdict
