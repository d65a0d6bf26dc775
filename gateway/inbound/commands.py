"""The commands that people type, in one registry: for the help, the palette and the parser."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from gateway.client import Answer, CommandInfo
from gateway.queue_commands import again, list_grants, queue, revoke
from gateway.store.decisions import Begin, Decision, Forget, Retry, Say, Situation, Stop, TellUsage

_SLASH = re.compile(r"/([A-Za-z_]+)(?:\s+(.*))?", re.DOTALL)
_VERDICT = re.compile(r"/?(approve|deny)\s+([0-9a-f]{12})\b\s*(.*)", re.DOTALL | re.IGNORECASE)


NO_ANSWER = Answer(kind="text")


@dataclass(frozen=True, slots=True)
class Command:
    """A command as it was typed. One that names a request answers it."""

    name: str
    decide: Callable[[Situation], Decision]
    request: str = ""
    answer: Answer = NO_ANSWER


def _new(situation: Situation) -> Decision:
    return Begin(reply="A new thread has begun; the team remembers nothing of the old one.")


def _stop(situation: Situation) -> Decision:
    if situation.status is None:
        return Say(reply="Nothing is running.")
    return Stop(reply="Stopped.")


def _status(situation: Situation) -> Decision:
    thread = situation.thread
    if thread is None:
        return Say(reply="Nothing has been said here yet.")
    state = {
        "idle": "has nothing to do",
        "working": "is working",
        "waiting": "waits for an answer",
        "parked": "was interrupted too often; /retry, or your next message, goes on from there",
    }[thread.state]
    lines = [f"The team {thread.team!r} {state}."]
    if situation.waiting:
        lines.append(f"Messages that wait: {situation.waiting}.")
    lines += [f"Asked ({request.id}): {request.prompt}" for request in situation.requests]
    return Say(reply="\n".join(lines))


def _retry(situation: Situation) -> Decision:
    if situation.busy:
        return Say(reply="The team is at it already.")
    if situation.last not in ("failed", "interrupted"):
        return Say(reply="Nothing has failed here that could be tried again.")
    return Retry(reply="It is tried again, from where it stood.")


def _forget(situation: Situation) -> Decision:
    if situation.thread is None:
        return Say(reply="There is nothing to forget here.")
    return Forget(reply="All that was said and made in this thread is deleted.")


def _usage(situation: Situation) -> Decision:
    return TellUsage()


def _help(situation: Situation) -> Decision:
    return Say(reply="\n".join(f"/{info.name}  {info.description}" for info in command_infos()))


def _which(situation: Situation) -> Decision:
    open_ones = [request.id for request in situation.requests if request.kind == "approval"]
    if not open_ones:
        return Say(reply="Nothing waits for an approval of yours.")
    return Say(reply=f"Say which one: {', '.join(open_ones)}.")


_COMMANDS: dict[str, tuple[str, Callable[[Situation], Decision]]] = {
    "new": ("begin a new thread", _new),
    "stop": ("stop what the team is doing", _stop),
    "status": ("what the team is doing, and what waits", _status),
    "retry": ("try again what has failed", _retry),
    "forget": ("delete this thread with everything that was said and made in it", _forget),
    "usage": ("what this thread and you have used, and what is left of it", _usage),
    "grants": ("which tools may run here without asking, and for whom", list_grants),
    "approve": ("let a tool call run: approve ID, or approve ID always", _which),
    "deny": ("refuse a tool call: deny ID, with a note for the team if you like", _which),
    "help": ("what can be typed here", _help),
}


_WITH_WORDS: dict[str, tuple[str, Callable[[Situation, str], Decision]]] = {
    "queue": ("what waits here; queue drop N, queue first N, queue mode NAME", queue),
    "again": ("run a message again that was edited: again N", again),
    "revoke": ("ask for a tool again that may run here: revoke TOOL", revoke),
}


def command_infos() -> list[CommandInfo]:
    """All commands with their descriptions."""
    return [
        CommandInfo(name=name, description=description)
        for name, (description, _) in (*_COMMANDS.items(), *_WITH_WORDS.items())
    ]


def parse_command(text: str) -> Command | None:
    """The command that a text is, None for a text that is none.

    `approve ID` and `deny ID` need no slash: platforms take slashes for themselves.
    """
    text = text.strip()
    if verdict := _VERDICT.fullmatch(text):
        return _verdict(verdict[1].lower(), verdict[2].lower(), verdict[3].strip())
    slash = _SLASH.fullmatch(text)
    if slash is None:
        return None
    name = slash[1].lower()
    if name in _WITH_WORDS:
        decide, words = _WITH_WORDS[name][1], (slash[2] or "").strip()
        return Command(name, lambda situation: decide(situation, words))
    if name not in _COMMANDS:
        return Command(name, lambda _: Say(reply=f"There is no command /{name}; /help lists them."))
    return Command(name, _COMMANDS[name][1])


def decide_command(text: str, situation: Situation) -> Decision:
    """What a command means, typed by somebody who may do everything."""
    command = parse_command(text)
    assert command is not None
    return command.decide(situation)


def _verdict(name: str, request: str, rest: str) -> Command:
    if name == "deny":
        answer = Answer(kind="deny", text=rest)
    else:
        answer = Answer(kind="approve_always" if rest.lower() == "always" else "approve")
    return Command(name, _which, request, answer)
