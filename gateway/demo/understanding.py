"""The work that a person's message asks for, by simple rules."""

# ruff: noqa: RUF001 (people write signs that look like others)

from __future__ import annotations

import re
from dataclasses import dataclass

from gateway.demo.calculator import CalculationError, calculate

CALCULATOR, CLOCK, READ_FILE = "calculator", "clock", "read_file"


@dataclass(frozen=True, slots=True)
class Task:
    """Work for one tool: a call for each value.

    Without values, the person has to be asked for one.
    """

    tool: str
    values: tuple[str, ...] = ()


_FLAGS = re.IGNORECASE | re.DOTALL
_AUTHOR_LINE = re.compile(r"\[[^\]\n]* · [^\]\n]*\]\n")
_CLAUSE_END = re.compile(
    r"[?!;\n]+|\.\s|,?\s*\b(?:and|then|also)\s+(?:(?:then|also|please)\s+)*"
    r"(?=(?:what|calculate|compute|read|open|show|tell|time)\b)",
    _FLAGS,
)
_READING = re.compile(r"\b(?:read|open|show|print|cat|summari[sz]e|what(?:'s| is) in)\b", _FLAGS)
_FILE = re.compile(
    r"(?<!\w)[`\"'](?P<quoted>[^`\"'\n]+)[`\"']"
    r"|(?P<plain>(?:~|\.{1,2})?/[\w./-]*\w|(?:[\w.-]+/)*[\w.-]*\.[a-z]\w{0,7}\b)",
    _FLAGS,
)
_TIME = re.compile(
    r"\bwhat(?:'s| is)?\s+(?:the\s+)?(?:current\s+)?(?:time|date|day)\b|\btime in\b|^\s*time\s*$",
    _FLAGS,
)
_PLACES = re.compile(r"\b(?:in|at|for)\s+(?P<places>.+)", _FLAGS)
_BETWEEN = re.compile(r",|\band\b|\bor\b|&|\bin\b|\bat\b|\bfor\b", _FLAGS)
_FILLER = re.compile(r"\b(?:the|right now|now|please|today|at the moment)\b", _FLAGS)
_EXPRESSION = re.compile(r"(?:sqrt\(|[-+(.]|(?<![\w.])\d)(?:[\d \t.()+*/^%×÷·−-]|sqrt\()*", _FLAGS)
_OPERATION = re.compile(r"[\d)]\s*[-+*/^%×÷·−]+\s*[-(.\ds]|sqrt", re.IGNORECASE)
# "3-5" is a range, unless nothing else is said.
_RANGE = re.compile(r"\d+(?:-\d+)+")
_ASKED = re.compile(r"\W*(?:what(?:'s|\s+is)|calculate|compute)?\s*0\s*[=?.!\s]*", re.IGNORECASE)


LONGEST = 500
"""Characters of a message that are understood: the patterns are not made for more."""


def tasks_in(message: str) -> tuple[Task, ...]:
    """The tasks of a message, at most one of each clause."""
    clauses = _CLAUSE_END.split(without_author(message[:LONGEST]).replace("’", "'"))
    return tuple(dict.fromkeys(task for clause in clauses if (task := _task(clause))))


def values_in(answer: str, tool: str) -> tuple[str, ...]:
    """Values for a tool in a person's answer."""
    answer = answer[:LONGEST]
    match tool:
        case "clock":
            return _places(answer) or _split_places(answer)
        case "read_file":
            return _paths(answer) or (answer.strip(),)
        case _:
            return _expressions(answer)


def without_author(message: str) -> str:
    """The message without the line that names its author."""
    return _AUTHOR_LINE.sub("", message, count=1) if _AUTHOR_LINE.match(message) else message


def _task(clause: str) -> Task | None:
    if _READING.search(clause) and ((paths := _paths(clause)) or "file" in clause.lower()):
        return Task(READ_FILE, paths)
    if _TIME.search(clause):
        return Task(CLOCK, _places(clause))
    expressions = _expressions(clause)
    if expressions or re.search(r"\b(?:calculate|compute)\b", clause, re.IGNORECASE):
        return Task(CALCULATOR, expressions)
    return None


def _paths(text: str) -> tuple[str, ...]:
    return tuple(match["quoted"] or match["plain"] for match in _FILE.finditer(text))


def _places(text: str) -> tuple[str, ...]:
    found = _PLACES.search(_FILLER.sub("", text))
    return _split_places(found["places"]) if found else ()


def _split_places(text: str) -> tuple[str, ...]:
    parts = (part.strip(" \t\n.?!\"'`") for part in _BETWEEN.split(_FILLER.sub("", text)))
    return tuple(part for part in parts if part)


def _expressions(text: str) -> tuple[str, ...]:
    found = (match[0].strip(" \t.") for match in _EXPRESSION.finditer(text))
    return tuple(expression for expression in found if _is_arithmetic(expression, text))


def _is_arithmetic(expression: str, text: str) -> bool:
    if _RANGE.fullmatch(expression) and not _ASKED.fullmatch(text.replace(expression, "0")):
        return False
    try:
        calculate(expression)
    except CalculationError as error:
        # A sum without a value is arithmetic all the same: the calculator will say so.
        return "can't read" not in str(error) and "longer" not in str(error)
    return _OPERATION.search(expression) is not None
