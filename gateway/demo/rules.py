"""The demo model's rules: an agent's view becomes text or tool calls."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.demo.understanding import (
    CALCULATOR,
    CLOCK,
    READ_FILE,
    Task,
    tasks_in,
    values_in,
    without_author,
)
from teams.core import FunctionCall

FRONT_DESK, SPECIALIST, REVIEWER = "front_desk", "specialist", "reviewer"
ASK = "ask_human"

MOST_CALLS = 10
"""Tool calls that are made for one message."""
LINES_SHOWN = 40

_TRY = {
    CALCULATOR: "- a calculation: *what is 12\\*7+1?*",
    CLOCK: "- the time: *what time is it in Tokyo and in Paris?*",
    READ_FILE: "- a file of this folder: *read README.md*",
}
_REAL_MODEL = """\
For a real model set `OPENAI_API_KEY` (and `OPENAI_BASE_URL` for another or a local server) \
and start again: the same team then runs on it."""

_ARGUMENTS = {CALCULATOR: "expression", CLOCK: "place", READ_FILE: "path"}
_QUESTIONS: Mapping[str, Mapping[str, Any]] = {
    CALCULATOR: {"question": "What shall I calculate?"},
    CLOCK: {
        "question": "Which city or time zone do you mean?",
        "options": ["London", "New York", "Tokyo", "UTC"],
    },
    READ_FILE: {"question": "Which file of this folder shall I read?"},
}
_NO_FILES = "I can read files only for the person at the terminal where I run, not here."
_HELLO = re.compile(
    r"\s*(?:hello|hi|hey|good (?:morning|afternoon|evening)|help|\?)\b|\bwho are (?:you|we)\b"
    r"|\bwhat can (?:you|i)\b|\bwhat are you\b|\byour name\b",
    re.IGNORECASE,
)
_RESULTS = "My results: "


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReturn:
    """The result of a tool call, with the value of its argument."""

    tool: str
    argument: str
    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """An agent's view of the conversation.

    `request` is the latest message of a person. `notes` are what other agents handed over since,
    `returned` the results of the agent's own calls since.
    """

    agent: str
    tools: frozenset[str]
    request: str
    notes: tuple[str, ...] = ()
    returned: tuple[ToolReturn, ...] = ()

    @property
    def results(self) -> list[ToolReturn]:
        """Results of the agent's own work."""
        return [result for result in self.returned if result.tool in _ARGUMENTS]

    @property
    def asked(self) -> bool:
        """True once the agent has asked the person."""
        return any(result.tool == ASK for result in self.returned)

    @property
    def clarification(self) -> str:
        """The person's answer to the question for a missing value."""
        answers = (one.text for one in self.returned if one.tool == ASK and not one.failed)
        return next(answers, "")

    @property
    def drafts(self) -> list[str]:
        """Expressions whose results the specialist asks to have checked."""
        notes = [note.removeprefix(_RESULTS) for note in self.notes if note.startswith(_RESULTS)]
        return [draft.partition(" = ")[0] for note in notes for draft in note.split("; ")]


@dataclass(frozen=True, slots=True)
class Step:
    """An answer in Markdown, or tool calls with a note."""

    text: str
    calls: tuple[FunctionCall, ...] = ()


def next_step(view: View) -> Step:
    """The agent's next step."""
    tasks = tasks_in(view.request)
    if not tasks:
        return _hand_over(view, FRONT_DESK) or Step(_talk(view))
    if view.agent == REVIEWER and view.drafts:
        return _work(view, [Task(CALCULATOR, tuple(view.drafts))])
    return _hand_over(view, SPECIALIST) or _ask(view, tasks) or _work(view, tasks)


def _work(view: View, tasks: Sequence[Task]) -> Step:
    """All calls at once, then one answer; the reviewer checks calculations first."""
    calls = [
        (task.tool, value)
        for task in tasks
        for value in task.values or values_in(view.clarification, task.tool)
    ]
    usable = [_call(tool, {_ARGUMENTS[tool]: value}) for tool, value in calls if tool in view.tools]
    if usable and not view.results:
        return Step("", tuple(usable[:MOST_CALLS]))
    if all(result.tool == CALCULATOR and not result.failed for result in view.results):
        drafts = "; ".join(f"{result.argument} = {result.text}" for result in view.results)
        if drafts and (check := _hand_over(view, REVIEWER, _RESULTS + drafts)):
            return check
    lines = [_line(result) for result in view.results]
    lacking = dict.fromkeys(tool for tool, _ in calls if tool not in view.tools)
    lines += [_NO_FILES if tool == READ_FILE else f"I have no {tool} here." for tool in lacking]
    if view.agent == REVIEWER:
        lines.append("I calculated it again and checked it against the specialist's result.")
    return Step("\n\n".join(lines) or f"I can't find what to work on in that. {_can_do(view)}")


def _line(result: ToolReturn) -> str:
    # A failure is told without the name of its class.
    reason = re.sub(r"^(?:[A-Z]\w*: )+", "", result.text.strip())
    match result.tool, result.failed:
        case "calculator", True:
            return f"`{result.argument}` has no result: {reason}"
        case "calculator", False:
            return f"`{result.argument}` = **{result.text}**"
        case "clock", True:
            return f"{reason} Try a large city nearby."
        case "clock", False:
            return f"In **{result.argument}** it is {result.text}."
        case _, True:
            return f"I have not read `{result.argument}`. {reason}"
        case _:
            return _file_text(result)


def _file_text(result: ToolReturn) -> str:
    lines = result.text.splitlines()
    head = "\n".join(lines[:LINES_SHOWN])
    fence = "`" * (max([2, *(len(run) for run in re.findall(r"`+", head))]) + 1)
    more = f"\n\n… and {len(lines) - LINES_SHOWN} more lines." if len(lines) > LINES_SHOWN else ""
    counted = f"{len(lines)} lines and {len(result.text.split())} words"
    return f"**{result.argument}** has {counted}:\n\n{fence}\n{head}\n{fence}{more}"


def _talk(view: View) -> str:
    if not _HELLO.match(without_author(view.request)):
        begin = "I'm only the **demo model**: I follow simple rules and did not understand that."
    elif _transfer(SPECIALIST) in view.tools:
        begin = (
            f"Hello! You are talking to a team of three: I am **{FRONT_DESK}**, "
            f"**{SPECIALIST}** works with tools, **{REVIEWER}** checks. We run on the built-in "
            "**demo model**: simple rules that need no key, and no language model."
        )
    else:
        begin = (
            "Hello! I run on the built-in **demo model**: simple rules that need no key, and no "
            "language model. It can't do this team's work."
        )
    return f"{begin}\n\n{_can_do(view)}"


def _can_do(view: View) -> str:
    """Requests to try here, and the way to a real model."""
    tried = [
        line
        for tool, line in _TRY.items()
        if tool in view.tools or _transfer(SPECIALIST) in view.tools
    ]
    return "\n".join(["Try:", *tried, "", _REAL_MODEL]) if tried else _REAL_MODEL


def _transfer(agent: str) -> str:
    return f"transfer_to_{agent}"


def _hand_over(view: View, agent: str, note: str = "") -> Step | None:
    """Transfer to the agent; None where that is not possible."""
    tool = _transfer(agent)
    if view.agent == agent or tool not in view.tools:
        return None
    return Step(note, (_call(tool, {}),))


def _ask(view: View, tasks: Sequence[Task]) -> Step | None:
    """Ask the person once for a missing value, if there is one."""
    missing = next((task.tool for task in tasks if not task.values), None)
    if missing is None or ASK not in view.tools or view.asked:
        return None
    return Step("", (_call(ASK, _QUESTIONS[missing]),))


def _call(tool: str, arguments: Mapping[str, Any]) -> FunctionCall:
    return FunctionCall(
        id=f"call_{uuid.uuid4().hex[:16]}", name=tool, arguments=json.dumps(arguments)
    )
