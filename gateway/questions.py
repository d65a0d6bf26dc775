"""A team's questions as lines, and the answers that lines mean."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.client import CANCEL, Answer, AnswerKind, chosen
from gateway.events import GRANT_WORDS, GrantKind, grant_word
from gateway.items import RequestItem
from gateway.render.arguments import plain_text

_LETTERS: Mapping[GrantKind, str] = {
    "approve_same": "e",
    "approve_below": "f",
    "approve_always": "a",
    "approve_new": "d",
}
_VERDICTS = "Type approve (y), deny (n), or deny and a reason."


def question_lines(request: RequestItem) -> list[str]:
    """The question itself."""
    name = request.agent.name
    match request.kind:
        case "approval":
            arguments = plain_text(request.arguments).split("\n")
            told = f"{name} wants to use {request.tool}."  # the first line says it
            prompt = request.prompt.removeprefix(told).strip()
            details = [f"  {line}" for line in (prompt, *arguments)]
            asked = f"{name} asks to run {request.tool}"
            return [asked, *(line for line in details if line.strip())]
        case "choice" | "choices":
            options = [f"  {number}. {text}" for number, text in enumerate(request.options, 1)]
            return [f"{name} asks: {request.prompt}", *options]
        case "text":
            return [f"{name} asks: {request.prompt}"]


def advice_lines(request: RequestItem) -> list[str]:
    """Advice on how to answer it."""
    match request.kind:
        case "text":
            return ["Type your answer on the next line."]
        case "choice":
            return ["Type a number, or an answer."]
        case "choices":
            return ["Type numbers with commas between them, or an answer."]
        case "approval" if not request.grants:
            return [_VERDICTS]
        case "approval":
            grants = [f"approve {grant_word(kind)} ({told})" for kind, told in request.grants]
            lead = "Or" if request.grants[0][0] == "approve_new" else "For the rest of this thread:"
            return [_VERDICTS, f"{lead} {', '.join(grants)}."]


def understand(request: RequestItem, line: str) -> Answer | None:
    """The answer that a line means; None if it is something else."""
    match request.kind:
        case "text":
            return Answer(kind="text", text=line)
        case "choice" | "choices":
            several = request.kind == "choices"
            return Answer(kind="text", text=chosen(line, request.options, several=several))
        case "approval":
            return _verdict(line, request)


def no_answer(request: RequestItem) -> str:
    """The line for a call that waits where nobody gives an answer."""
    return "deny" if request.kind == "approval" else CANCEL


def _verdict(line: str, request: RequestItem) -> Answer | None:
    word, _, rest = line.strip().casefold().partition(" ")
    approvals: dict[str, AnswerKind] = {"": "approve", **GRANT_WORDS}
    match word.rstrip(",:"):
        case "approve" | "y" | "yes":
            kind = approvals.get(rest.strip())
            return Answer(kind=kind) if kind else None
        case "deny" | "n" | "no":
            return Answer(kind="deny", text=line.strip()[len(word) :].strip())
        case said:
            for grant, _ in request.grants if not rest else ():
                if said in (_LETTERS[grant], grant_word(grant)):
                    return Answer(kind=grant)
            return None
