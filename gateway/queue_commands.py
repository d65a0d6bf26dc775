"""Commands about what waits in a thread, what was edited, and what may run without asking."""

from __future__ import annotations

from gateway.store.decisions import Again, Decision, Drop, First, Revoke, Say, SetMode, Situation

LINE = 80
"""Characters of a waiting message that lists show."""

MODES = {
    "queue": "a message waits for its own turn",
    "steer": "a message joins the turn that runs",
    "interrupt": "a message ends the turn that runs",
    "collect": "messages wait for each other, and become one turn",
}
"""What each mode does with a message during a turn."""

NOTHING_SAID = "Nothing has been said here yet."
HOW = "Say /queue drop N, /queue first N, or /queue mode NAME."


def queue(situation: Situation, words: str) -> Decision:
    """`/queue`: what waits. With `drop N` or `first N` one of it is taken back or comes next,
    `mode NAME` is another mode.
    """
    thread = situation.thread
    if thread is None:
        return Say(reply=NOTHING_SAID)
    decision: Decision = Say(reply=HOW)
    match words.lower().split():
        case []:
            decision = Say(reply=_listed(situation, thread.mode))
        case ["drop", number] if _is_number(number):
            decision = Drop(inbox=_number(number))
        case ["first", number] if _is_number(number):
            decision = First(inbox=_number(number))
        case ["mode", name] if name in MODES:
            decision = SetMode(mode=name, reply=f"From now on {MODES[name]}.")
        case ["mode", *_]:
            modes = (f"{name}: {meaning}" for name, meaning in MODES.items())
            decision = Say(reply="\n".join(["The modes are:", *modes]))
        case _:
            pass
    return decision


def again(situation: Situation, words: str) -> Decision:
    """`/again N`: a turn for what the message with this number was edited to."""
    if not _is_number(words):
        return Say(reply="Say which one: /again N.")
    return Again(inbox=_number(words))


def list_grants(situation: Situation) -> Decision:
    """`/grants`: what may run without asking, and for whom."""
    lines = [
        f"{grant.tool}, for {grant.person}; approved by {grant.granted_by}"
        for grant in situation.grants
    ]
    return Say(reply="\n".join(lines) or "Nothing was approved for the whole of this thread.")


def revoke(situation: Situation, words: str) -> Decision:
    """`/revoke TOOL`: the tool is asked for again."""
    if not words:
        return Say(reply="Say which tool: /revoke TOOL.")
    return Revoke(tool=words)


def _listed(situation: Situation, mode: str) -> str:
    lines = [
        f"{message.inbox}  {message.name or message.author}: {_line(message.text)}"
        for message in situation.queue
    ]
    return "\n".join([*(lines or ["Nothing waits."]), f"Mode {mode}: {MODES[mode]}."])


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LINE else line[: LINE - 1].rstrip() + "\u2026"


def _is_number(word: str) -> bool:
    digits = word.removeprefix("#")
    return digits.isascii() and digits.isdigit() and len(digits) < 18  # noqa: PLR2004 (it must fit the store)


def _number(word: str) -> int:
    return int(word.removeprefix("#"))
