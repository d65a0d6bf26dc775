"""Registry of commands, for the help, the palette and the parser."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from gateway.access.grants import scope_text
from gateway.access.modes import MEANINGS
from gateway.base.suggest import did_you_mean
from gateway.client import Answer, ArgumentKind, Choice, CommandInfo
from gateway.events import (
    ASIDE,
    ASK,
    COMPACT,
    COMPACT_FAILED,
    CONTINUE,
    GRANT_WORDS,
    ApprovalName,
)
from gateway.inbound import replies
from gateway.render.sanitize import label
from gateway.store.decisions import (
    UNMUTE,
    ApprovalChange,
    AsideDrop,
    CommandedTurn,
    CommandReply,
    Decision,
    GrantRevocation,
    MemoReply,
    ModeChange,
    ModelChange,
    MuteChange,
    NewConversation,
    QueuePromotion,
    QueueRemoval,
    RepeatedTurn,
    ThreadDeletion,
    ThreadFork,
    TurnRetry,
    TurnStop,
    UsageReply,
)
from gateway.store.records import Grant, Situation
from gateway.store.turn_records import MODE
from gateway.values import value

_SLASH = re.compile(r"/([A-Za-z_]+)(?:\s+(.*))?", re.DOTALL)
_BANG = re.compile(r"!([A-Za-z_]{1,32})(?:\s+(.*))?", re.DOTALL)
_VERDICT = re.compile(r"/?(approve|deny)\s+([0-9a-f]{12})\b\s*(.*)", re.DOTALL | re.IGNORECASE)

NO_ANSWER = Answer(kind="text")

FORK = "fork"

LINE = 80
"""Characters of a waiting message that lists show."""

MATTERS = 1000
"""Characters of what a summary should keep."""

MODES = {
    "queue": "a message waits for its own turn",
    "steer": "a message joins the running turn",
    "interrupt": "a message ends the running turn",
    "collect": "waiting messages become one turn",
}
"""Meaning of each mode for a message during a turn."""

UNFINISHED = ("failed", "interrupted")
"""Statuses of a turn that can be tried again."""

QUEUE_WORDS = (
    Choice(name="drop", description="withdraw the waiting message with this number", goes_on=True),
    Choice(name="first", description="put the waiting message first", goes_on=True),
    *(Choice(name=f"mode {name}", description=meaning) for name, meaning in MODES.items()),
)

MEMORY_WORDS = (
    Choice(name="forget", description="delete the entry with this number", goes_on=True),
    Choice(name="forget all", description="delete all that is remembered of you"),
)

ASIDE_WORDS = (
    Choice(name="summarise", description="the thread's model summarises it and answers that"),
    Choice(name="attach", description="the model gets beginning and end; with tools it reads on"),
    Choice(name="drop", description="the thread goes on without it"),
)

APPROVAL_WORDS = tuple(Choice(name=name, description=told) for name, told in MEANINGS.items())

Decide: TypeAlias = Callable[[Situation, str], Decision]
_COMMANDS: dict[str, tuple[CommandInfo, Decide]] = {}


def command(
    name: str,
    description: str,
    argument: str = "",
    *,
    takes: ArgumentKind = "",
    choices: tuple[Choice, ...] = (),
) -> Callable[[Decide], Decide]:
    """Make a command of a function; /help lists them in this order."""
    info = CommandInfo(
        name=name, description=description, argument=argument, takes=takes, choices=choices
    )

    def add(decide: Decide) -> Decide:
        _COMMANDS[name] = info, decide
        return decide

    return add


@value
class Command:
    """A typed command; one that names a request answers it."""

    name: str
    words: str = ""
    request: str = ""
    answer: Answer = NO_ANSWER

    def decide(self, situation: Situation) -> Decision:
        """Decision on the command for somebody who may do everything."""
        if self.name not in _COMMANDS:
            return CommandReply(reply=_unknown(self.name))
        return _COMMANDS[self.name][1](situation, self.words)

    @property
    def verdict(self) -> Answer | None:
        """Answer of one that names no request; None for other commands."""
        if self.request or self.name not in ("approve", "deny"):
            return None
        if self.name == "approve" and self.words.lower() not in ("", *GRANT_WORDS):
            return None
        return _answer(self.name, self.words)


def parse_command(text: str) -> Command | None:
    """The command in a text, or None.

    `approve ID` and `deny ID` need no slash, and each command may begin with `!`: platforms take
    slashes for themselves. A sentence that begins with `!` is a text, unless it is one word or
    almost a command that takes words.
    """
    text = text.strip()
    if verdict := _VERDICT.fullmatch(text):
        name, request, rest = verdict[1].lower(), verdict[2].lower(), verdict[3].strip()
        return Command(name=name, request=request, answer=_answer(name, rest))
    found = _SLASH.fullmatch(text) or _BANG.fullmatch(text)
    if found is None:
        return None
    name, words = found[1].lower(), (found[2] or "").strip()
    if text.startswith("!") and words and name not in _COMMANDS:
        meant = did_you_mean(name, [each.name for each in command_infos() if each.takes])
        return Command(name=name, words=words) if meant else None
    return Command(name=name, words=words)


def _answer(name: str, rest: str) -> Answer:
    if name == "deny":
        return Answer(kind="deny", text=rest)
    return Answer(kind=GRANT_WORDS.get(rest.lower(), "approve"))


def _unknown(name: str) -> str:
    """Sentences about a command that does not exist."""
    near = did_you_mean(f"/{name}", [f"/{known}" for known in _COMMANDS])
    asked = f" D{near[1:]}" if near else ""
    listed = ", ".join(f"/{known}" for known in _COMMANDS)
    return f"There is no command {name[:40]!r}.{asked} The commands are {listed}."


def command_infos() -> list[CommandInfo]:
    """All commands with their descriptions."""
    return [info for info, _ in _COMMANDS.values()]


@command("new", "start a new thread")
def _new(_situation: Situation, _words: str) -> Decision:
    return NewConversation(
        reply="A new thread has started. The team does not remember the old one."
    )


@command("stop", "stop the team")
def _stop(situation: Situation, _words: str) -> Decision:
    if situation.status is None:
        return CommandReply(reply="The team is not working.")
    return TurnStop()


@command("status", "show what the team is doing")
def _status(situation: Situation, _words: str) -> Decision:
    thread = situation.thread
    if thread is None:
        return CommandReply(reply=replies.NOTHING_SAID)
    state = {
        "idle": "is idle",
        "working": "is working",
        "waiting": "is waiting for an answer",
        "parked": "was interrupted; /retry, or your next message, continues from there",
    }[thread.state]
    lines = [f"The team {thread.team!r} {state}."]
    if thread.muted:
        lines.append(replies.MUTED)
    if situation.waiting:
        lines.append(f"Waiting messages: {situation.waiting}.")
    lines += [f"Asked ({request.id}): {request.prompt}" for request in situation.requests]
    return CommandReply(reply="\n".join(lines))


@command("retry", "try the failed turn again")
def _retry(situation: Situation, _words: str) -> Decision:
    if situation.busy:
        return CommandReply(reply=replies.WORKING)
    if situation.last not in UNFINISHED:
        return CommandReply(reply="No turn has failed, so there is none to try again.")
    return TurnRetry(reply="Trying again from where it stopped.")


@command("continue", "go on with an answer cut at the token limit")
def _continue(situation: Situation, _words: str) -> Decision:
    if situation.busy:
        return CommandReply(reply=replies.WORKING)
    if not situation.cut:
        return CommandReply(reply="The last answer was not cut off, so it can't continue.")
    said = f"{label(situation.cut, LINE)} goes on from there."
    return CommandedTurn(reply=said, command=CONTINUE)


@command(FORK, "go on in a copy of this thread; N: without its last N turns", "[N]", takes="text")
def _fork(situation: Situation, _words: str) -> Decision:
    """`/fork N`: its plan was made before, as that takes time."""
    if situation.thread is None or situation.last is None:
        return CommandReply(reply=replies.NOTHING_SAID)
    return ThreadFork(plan=replies.HOW_FORK, reply=replies.FORKED, here=replies.FORKED_HERE)


@command(
    "aside",
    "what was too long for the model: summarise it, attach it, or drop it",
    "what",
    takes="word",
    choices=ASIDE_WORDS,
)
def _aside(situation: Situation, words: str) -> Decision:
    """`/aside WAY`: what becomes of what was too long for the model."""
    if situation.busy:
        return CommandReply(reply=replies.WORKING)
    if situation.aside in ("", "decided"):
        return CommandReply(reply=replies.DECIDED if situation.aside else replies.NOT_ASIDE)
    match words.lower().replace("z", "s"):
        case "summarise" | "attach" as way:
            return TurnRetry(reply="", command=f"{ASIDE} {way}", notice=replies.ASIDE_REPLIES[way])
        case "drop":
            return AsideDrop(notice=replies.ASIDE_REPLIES["drop"])
        case _:
            return CommandReply(reply=replies.HOW_ASIDE)


@command(
    "compact",
    "summarise what was said, so that the models have room again",
    "[what matters]",
    takes="text",
)
def _compact(situation: Situation, words: str) -> Decision:
    """`/compact`, maybe with what matters: the turn finds what to do."""
    if situation.busy or situation.last is None:
        return CommandReply(reply=replies.WORKING if situation.busy else replies.NOTHING_SAID)
    reply, about = "What was said is being summarised.", words[:MATTERS]
    if situation.last in UNFINISHED:  # it can still be tried again
        return TurnRetry(reply=reply, command=f"{COMPACT_FAILED} {about}".rstrip())
    return CommandedTurn(reply=reply, command=f"{COMPACT} {about}".rstrip())


@command("forget", "delete this thread with its messages and files")
def _forget(situation: Situation, _words: str) -> Decision:
    if situation.thread is None:
        return CommandReply(reply="There is no thread to delete here.")
    what = f"this thread{replies.with_forks(situation.forks)}"
    return ThreadDeletion(reply=f"All messages and files of {what} are deleted.")


@command("usage", "show usage and budgets")
def _usage(_situation: Situation, _words: str) -> Decision:
    return UsageReply()


@command(
    "memory",
    "show what is remembered of you; forget N or forget all deletes it",
    "[what]",
    takes="word",
    choices=MEMORY_WORDS,
)
def _memory(_situation: Situation, words: str) -> Decision:
    """`/memory`: what is remembered of its sender, or a page of it.

    `forget N` deletes an entry, `forget all` every one.
    """
    match words.lower().split():
        case []:
            return MemoReply()
        case [page] if _is_number(page):
            return MemoReply(page=_number(page))
        case ["forget", "all"]:
            return MemoReply(delete=0)
        case ["forget", number] if _is_number(number) and _number(number):
            return MemoReply(delete=_number(number))
        case _:
            return CommandReply(reply=replies.HOW_MEMORY)


@command("grants", "list the tools approved for this thread")
def _grants(situation: Situation, _words: str) -> Decision:
    """`/grants`: what may run without asking, and for whom."""
    lines = [
        f"{_told(grant)}, for {_called(situation, grant.person)}; "
        f"approved by {_called(situation, grant.granted_by)}"
        for grant in situation.grants
    ]
    return CommandReply(reply="\n".join(lines) or "No tool is approved for the whole thread.")


def _told(grant: Grant) -> str:
    if grant.scope == MODE:
        return f"the mode {grant.tool}"
    return f"{grant.tool} with {scope_text(grant.scope)}"


def _called(situation: Situation, person: str) -> str:
    return label(situation.names.get(person, ""), LINE) or person


@command(
    "deny", "refuse a tool call, with a note for the team if you like", "ID [note]", takes="text"
)
@command(
    "approve",
    "let a tool call run; always, same, below: for the thread; new: a new tool",
    "ID",
    takes="text",
)
def _which(situation: Situation, _words: str) -> Decision:
    open_ones = [request.id for request in situation.requests if request.kind == "approval"]
    if not open_ones:
        return CommandReply(reply="No tool call is waiting for your approval.")
    return CommandReply(reply=f"Say which one: {', '.join(open_ones)}.")


@command(
    "model",
    "list the models; a name gives all agents that one, default each its own",
    "[name]",
    takes="model",
)
def _model(_situation: Situation, words: str) -> Decision:
    """`/model NAME`: whoever knows the models decides what the name means."""
    return ModelChange(model=words)


@command(
    "team",
    "start a new thread with another team; without a name, list them",
    "[name]",
    takes="team",
)
def _team(_situation: Situation, words: str) -> Decision:
    """`/team NAME`: the route decides which teams there are."""
    return NewConversation(reply="", team=words)


@command("help", "list the commands")
def _help(_situation: Situation, _words: str) -> Decision:
    found = [(f"{each.name} {each.argument}", each.description) for each in command_infos()]
    return CommandReply(reply="\n".join(f"/{use.rstrip()}  {what}" for use, what in found))


@command(
    "queue",
    "list waiting messages; drop N, first N or mode NAME changes them",
    "[what]",
    takes="word",
    choices=QUEUE_WORDS,
)
def _queue(situation: Situation, words: str) -> Decision:
    """`/queue`: waiting messages.

    `drop N` withdraws one, `first N` puts it first, `mode NAME` changes the mode.
    """
    thread = situation.thread
    if thread is None:
        return CommandReply(reply=replies.NOTHING_SAID)
    decision: Decision = CommandReply(reply=replies.HOW_QUEUE)
    match words.lower().split():
        case []:
            decision = CommandReply(reply=_listed(situation, thread.mode))
        case ["drop", number] if _is_number(number):
            decision = QueueRemoval(inbox=_number(number))
        case ["first", number] if _is_number(number):
            decision = QueuePromotion(inbox=_number(number))
        case ["mode", name] if name in MODES:
            decision = ModeChange(mode=name, reply=f"From now on {MODES[name]}.")
        case ["mode", *_]:
            modes = (f"{name}: {meaning}" for name, meaning in MODES.items())
            decision = CommandReply(reply="\n".join(["The modes are:", *modes]))
        case _:
            pass
    return decision


def _listed(situation: Situation, mode: str) -> str:
    lines = [
        f"{message.inbox}  {message.name or message.author}: {_line(message.text)}"
        for message in situation.queue
    ]
    return "\n".join([*(lines or ["No message is waiting."]), f"Mode {mode}: {MODES[mode]}."])


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LINE else line[: LINE - 1].rstrip() + "\u2026"


@command("mute", "answer only messages that mention the team")
def _mute(situation: Situation, _words: str) -> Decision:
    thread = situation.thread
    if thread is None:
        return CommandReply(reply=replies.MUTE_IN_THREAD.format(name="mute"))
    if thread.key.is_local:
        return CommandReply(reply=replies.NOT_MUTABLE)
    if thread.muted:
        return CommandReply(reply=replies.MUTED)
    return MuteChange(muted=True, notice=replies.MUTED, command=UNMUTE, label="Unmute")


@command("unmute", "answer everything in this thread again")
def _unmute(situation: Situation, _words: str) -> Decision:
    thread = situation.thread
    if thread is None:
        return CommandReply(reply=replies.MUTE_IN_THREAD.format(name="unmute"))
    if not thread.muted:
        return CommandReply(reply="This thread is not muted.")
    return MuteChange(muted=False, notice=replies.UNMUTED, over=UNMUTE)


@command("again", "run an edited message again", "N", takes="text")
def _again(_situation: Situation, words: str) -> Decision:
    """`/again N`: a turn for the edited message with this number."""
    if not _is_number(words):
        return CommandReply(reply="Give its number: /again N.")
    return RepeatedTurn(inbox=_number(words))


@command("mode", "change the mode of approval", "[mode]", takes="word", choices=APPROVAL_WORDS)
def _mode(situation: Situation, words: str) -> Decision:
    """`/mode NAME`: which tool calls of the thread ask; the terminal's alone."""
    now = next((each.tool for each in situation.grants if each.scope == MODE), ASK)
    known: Mapping[str, ApprovalName] = {name: name for name in MEANINGS}
    wanted = known.get(words.lower())
    if situation.thread is None or wanted is None or wanted == now:
        modes = (f"{name}: {meaning}" for name, meaning in MEANINGS.items())
        return CommandReply(reply="\n".join([f"The mode is {now}.", *modes]))
    return ApprovalChange(approval=wanted, notice=f"Mode {wanted}: {MEANINGS[wanted]}.")


@command("revoke", "withdraw the approval of a tool", "TOOL", takes="text")
def _revoke(situation: Situation, words: str) -> Decision:
    """`/revoke TOOL`: the tool is asked for again."""
    if not words:
        return CommandReply(reply="Name the tool: /revoke TOOL.")
    if any((each.tool, each.scope) == (words, MODE) for each in situation.grants):
        return _mode(situation, ASK)
    return GrantRevocation(tool=words)


def _is_number(word: str) -> bool:
    digits = word.removeprefix("#")
    return digits.isascii() and digits.isdigit() and len(digits) < 18  # noqa: PLR2004 (it must fit the store)


def _number(word: str) -> int:
    return int(word.removeprefix("#"))
