"""What the demo model does: rules from what an agent sees to a text or tool calls, without IO."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from gateway.demo.proofreading import review
from gateway.demo.understanding import (
    Calculate,
    Intent,
    ReadFile,
    Recall,
    Remember,
    Review,
    Several,
    Small,
    Time,
    Unknown,
    Work,
    expressions,
    facts,
    named_paths,
    named_places,
    understand,
    without_author,
)

FRONT_DESK, SPECIALIST, REVIEWER = "front_desk", "specialist", "reviewer"
CALCULATOR, CLOCK, READ_FILE, ASK = "calculator", "clock", "read_file", "ask_human"

MOST_AT_ONCE = 5
"""How many calls of one kind are made for one message."""
LINES_SHOWN = 40

REAL_MODEL = (
    "For a real model set `OPENAI_API_KEY` (and `OPENAI_BASE_URL` for another or a local server) "
    "and start again: the same team then runs on it."
)
CAN_DO = """\
- a calculation: *what is 12\\*7+1?*
- the time: *what time is it in Tokyo and in Paris?*
- a file of this folder: *read README.md*
- a review: *review: The the cat is is on teh mat*
- memory: *remember that my name is Ada*, and later *what is my name?*"""
_MEANT = "They mean: "
_RESULTS = "My results: "


@dataclass(frozen=True, slots=True)
class Returned:
    """What a tool call of the agent gave."""

    tool: str
    arguments: Mapping[str, Any]
    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What an agent sees.

    `request` is the latest message of a person, `earlier` the ones before it. `notes` are what
    other agents handed over since, `returned` the results of the agent's own calls since.
    """

    agent: str
    tools: frozenset[str]
    request: str
    earlier: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    returned: tuple[Returned, ...] = ()

    def results(self, tool: str) -> list[Returned]:
        """What the agent's own calls of that tool gave."""
        return [result for result in self.returned if result.tool == tool]

    @property
    def clarified(self) -> str:
        """What the person said when asked back, by this agent or one before."""
        for note in self.notes:
            if note.startswith(_MEANT):
                return note.removeprefix(_MEANT)
        answers = [result.text for result in self.results(ASK) if not result.failed]
        return answers[-1] if answers else ""


@dataclass(frozen=True, slots=True)
class Say:
    """Answer the person, in Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Act:
    """Call tools; the thought goes along with a hand-off."""

    calls: tuple[Call, ...]
    thought: str = ""


Decision: TypeAlias = Say | Act


def decide(view: View) -> Decision:
    """What the agent does next."""
    intent = understand(view.request)
    match intent:
        case Calculate() | Time() | ReadFile():
            return _work(view, intent)
        case Several(works):
            return _together(view, works)
        case Review():
            return _review(view, intent)
        case Remember() | Recall() | Small() | Unknown():
            return _hand_over(view, FRONT_DESK) or Say(_talk(view, intent))


# Work


def _work(view: View, intent: Work) -> Decision:
    match intent:
        case Calculate():
            return _calculate(view, intent)
        case Time():
            return _time(view, intent)
        case ReadFile():
            return _read(view, intent)


def _together(view: View, works: Sequence[Work]) -> Decision:
    """All calls at once, then one answer; the reviewer could check no more than a part of it."""
    view = replace(view, tools=view.tools - {_transfer(REVIEWER)})
    decisions = [_work(view, work) for work in works]
    acts = [decision for decision in decisions if isinstance(decision, Act)]
    for act in acts:
        if act.calls[0].tool == _transfer(SPECIALIST):
            return act
    if acts:
        return Act(tuple(call for act in acts for call in act.calls))
    return Say("\n\n".join(said.text for said in decisions if isinstance(said, Say)))


def _calculate(view: View, intent: Calculate) -> Decision:
    drafts = _drafts(view)
    wanted = intent.expressions or expressions(view.clarified) or tuple(drafts)
    if not wanted:
        return _ask(view, "What shall I calculate?") or Say(
            "I can't find a calculation in that. Write it like `12*7+1` or `15% of 240`."
        )
    if CALCULATOR not in view.tools or (view.agent == REVIEWER and not drafts):
        return _hand_over(view, SPECIALIST) or Say("I have no calculator here.")
    results = view.results(CALCULATOR)
    if not results:
        return Act(tuple(Call(CALCULATOR, {"expression": one}) for one in wanted[:MOST_AT_ONCE]))
    if not drafts and not any(result.failed for result in results):
        told = "; ".join(f"{_expression(result)} = {result.text}" for result in results)
        if checked := _hand_over(view, REVIEWER, _RESULTS + told):
            return checked
    return Say(_calculated(results, drafts))


def _calculated(results: Sequence[Returned], drafts: Mapping[str, str]) -> str:
    lines: list[str] = []
    for result in results:
        expression = _expression(result)
        if result.failed:
            lines.append(f"`{expression}` has no result: {_reason(result)}")
        elif drafts.get(expression, result.text) == result.text:
            lines.append(f"`{expression}` = **{result.text}**")
        else:
            lines.append(f"`{expression}` = **{result.text}**, not {drafts[expression]}")
    text = "\n".join(lines) if len(lines) == 1 else "\n".join(f"- {line}" for line in lines)
    if drafts:
        text += "\n\nI calculated it again, independently, and checked it against the specialist's."
    return text


def _time(view: View, intent: Time) -> Decision:
    places = (intent.places or named_places(view.clarified))[:MOST_AT_ONCE]
    if not places:
        question = "Which city or time zone do you mean?"
        options = ["London", "New York", "Tokyo", "UTC"]
        return _ask(view, question, options) or Say(f"{question} For example: *time in Tokyo*.")
    if CLOCK not in view.tools:
        return _hand_over(view, SPECIALIST) or Say("I have no clock here.")
    results = view.results(CLOCK)
    if not results:
        return Act(tuple(Call(CLOCK, {"place": place}) for place in places))
    lines = [
        f"{_reason(result)} Try a large city nearby."
        if result.failed
        else f"In **{result.arguments.get('place', '')}** it is {result.text}."
        for result in results
    ]
    return Say("\n".join(lines) if len(lines) == 1 else "\n".join(f"- {line}" for line in lines))


def _read(view: View, intent: ReadFile) -> Decision:
    paths = (intent.paths or named_paths(view.clarified))[:MOST_AT_ONCE]
    if not paths and view.clarified:
        paths = (view.clarified.strip(),)
    if READ_FILE not in view.tools:
        return _hand_over(view, SPECIALIST) or Say(
            "I can read files only for the person at the terminal where I run, not here."
        )
    if not paths:
        return _ask(view, "Which file of this folder shall I read?") or Say("Name the file.")
    results = view.results(READ_FILE)
    if not results:
        return Act(tuple(Call(READ_FILE, {"path": path}) for path in paths))
    return Say("\n\n".join(_shown_file(result) for result in results))


def _shown_file(result: Returned) -> str:
    path = result.arguments.get("path", "")
    if result.failed:
        return f"I have not read `{path}`. {_reason(result)}"
    lines = result.text.splitlines()
    head = "\n".join(lines[:LINES_SHOWN])
    ticks = max([2, *(len(run) for run in re.findall(r"`+", head))]) + 1
    fence = "`" * ticks
    more = f"\n\n… and {len(lines) - LINES_SHOWN} more lines." if len(lines) > LINES_SHOWN else ""
    words = len(result.text.split())
    return f"**{path}** has {len(lines)} lines and {words} words:\n\n{fence}\n{head}\n{fence}{more}"


def _review(view: View, intent: Review) -> Decision:
    text = intent.text or view.clarified
    if not text:
        return _ask(view, "Which text shall the reviewer look at?") or Say(
            "Write the text after *review:*."
        )
    return _hand_over(view, REVIEWER) or Say(review(text))


# Talk


def _talk(view: View, intent: Remember | Recall | Small | Unknown) -> str:
    known = _known(view)
    match intent:
        case Remember(fact):
            return f"I'll remember: {_turned(fact).rstrip('.')}."
        case Recall(""):
            return _all_known(known, view)
        case Recall(subject):
            if value := known.get(subject):
                return f"Your {subject} is **{value}**: you told me in this conversation."
            return f"You have not told me your {subject} yet. Say *my {subject} is …*."
        case Small(kind):
            return _small(kind, known.get("name", ""))
        case Unknown():
            return (
                "I'm only the **demo model**: I follow simple rules and did not understand "
                f"that.\n\nI can do:\n{CAN_DO}\n\n{REAL_MODEL}"
            )


def _small(kind: str, name: str) -> str:
    you = f", {name}" if name else ""
    match kind:
        case "thanks":
            return f"You're welcome{you}!"
        case "bye":
            return f"Goodbye{you}! This conversation is kept; come back to it at any time."
        case "who":
            return (
                f"I'm **{FRONT_DESK}**. With me work **{SPECIALIST}**, who calculates, tells the "
                f"time and reads files, and **{REVIEWER}**, who checks results and texts.\n\n"
                "All three run on the built-in **demo model**, which is a set of simple rules and "
                f"no language model. {REAL_MODEL}"
            )
        case "help":
            return f"Try:\n{CAN_DO}\n\nI run on the built-in **demo model**. {REAL_MODEL}"
        case _:
            return (
                f"Hello{you}! You are talking to a team of three: I welcome you, **{SPECIALIST}** "
                f"works with tools, **{REVIEWER}** checks. We run on the built-in **demo model**, "
                f"simple rules that need no key.\n\nTry:\n{CAN_DO}\n\n{REAL_MODEL}"
            )


def _known(view: View) -> dict[str, str]:
    """What the person has said of themselves so far; what was said last holds."""
    known: dict[str, str] = {}
    for message in (*view.earlier, view.request):
        known |= facts(message)
    return known


def _all_known(known: Mapping[str, str], view: View) -> str:
    told = [f"your {subject} is **{value}**" for subject, value in known.items()]
    for message in view.earlier:
        intent: Intent = understand(message)
        if isinstance(intent, Remember) and not facts(message):
            told.append(_turned(intent.fact).rstrip("."))
    if told:
        return "You told me:\n" + "\n".join(f"- {one}" for one in told)
    if view.earlier:
        said = without_author(view.earlier[-1])
        return f"Nothing about yourself yet. Before this you wrote: “{said}”"
    return "Nothing yet: this conversation has only begun."


def _turned(fact: str) -> str:
    """What a person said, said back to them."""
    swaps = {"my": "your", "mine": "yours", "me": "you", "i": "you", "i'm": "you're", "am": "are"}
    return re.sub(
        r"[\w']+", lambda word: swaps.get(word[0].lower(), word[0]), fact, flags=re.IGNORECASE
    )


# Moves


def _hand_over(view: View, agent: str, note: str = "") -> Act | None:
    """Transfer to the agent, with what was found out so far; None where that is not possible."""
    tool = _transfer(agent)
    if view.agent == agent or tool not in view.tools:
        return None
    clarified = f"{_MEANT}{view.clarified}" if view.clarified else ""
    return Act((Call(tool),), note or clarified)


def _transfer(agent: str) -> str:
    return f"transfer_to_{agent}"


def _ask(view: View, question: str, options: Sequence[str] = ()) -> Act | None:
    """Ask the person, once; None where that is not possible."""
    if ASK not in view.tools or view.results(ASK) or view.clarified:
        return None
    given = {"question": question, **({"options": list(options)} if options else {})}
    return Act((Call(ASK, given),))


def _drafts(view: View) -> dict[str, str]:
    """The results another agent asks to have checked, by expression."""
    drafts: dict[str, str] = {}
    for note in view.notes:
        if note.startswith(_RESULTS):
            pairs = (one.rpartition(" = ") for one in note.removeprefix(_RESULTS).split("; "))
            drafts |= {expression: value for expression, _, value in pairs}
    return drafts


def _expression(result: Returned) -> str:
    return str(result.arguments.get("expression", ""))


def _reason(result: Returned) -> str:
    """A failure in words, without the name of its class."""
    return re.sub(r"^(?:[A-Z]\w*: )+", "", result.text.strip())
