"""What a person's message is about, by simple rules: the demo model understands no more."""

# ruff: noqa: RUF001 (people write signs that look like others)

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from gateway.demo.calculator import CalculationError, calculate


@dataclass(frozen=True, slots=True)
class Calculate:
    """Arithmetic; no expression where none was given."""

    expressions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Time:
    """What time it is; no place where none was given."""

    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadFile:
    """What a file says; no path where none was given."""

    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Review:
    """What is to be said about a text."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class Remember:
    """Something to keep in mind."""

    fact: str


@dataclass(frozen=True, slots=True)
class Recall:
    """Something said before: about `subject`, or everything."""

    subject: str = ""


@dataclass(frozen=True, slots=True)
class Small:
    """Small talk: "hello", "who", "help", "thanks" or "bye"."""

    kind: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Anything else."""


Work: TypeAlias = Calculate | Time | ReadFile


@dataclass(frozen=True, slots=True)
class Several:
    """Different kinds of work in one message."""

    works: tuple[Work, ...]


Intent: TypeAlias = Work | Several | Review | Remember | Recall | Small | Unknown

_FLAGS = re.IGNORECASE | re.DOTALL
_AUTHOR_LINE = re.compile(r"\[[^\]\n]* · [^\]\n]*\]\n")
_REVIEW = re.compile(
    r"\s*(?:please\s+)?(?:can you\s+)?(?:review|proofread|check)"
    r"(?:\s+(?:this|my|the following|a)(?:\s+(?:text|sentence|message|draft|paragraph))?)?\s*"
    r"(?P<mark>[:\-–]|\n|$)\s*(?P<text>.*)",
    _FLAGS,
)
_REMEMBER = re.compile(
    r"\s*(?:please\s+)?(?:remember|note|keep in mind)\s*(?:that\b|:|,)?\s*(?P<fact>.+)", _FLAGS
)
_MY_IS = re.compile(
    r"\b(?P<owner>my)\s+(?P<subject>\w[\w' -]{0,40}?)\s+(?:is|are)\s+(?P<value>[^.!?\n]+)", _FLAGS
)
_CALL_ME = re.compile(r"\b(?:call me|i am called)\s+(?P<value>\w[\w'-]*(?: [A-Z][\w'-]*)?)", _FLAGS)
_RECALL = re.compile(
    r"\b(?:what(?:'s| is| are| was| were)|who(?:'s| is)|do you (?:know|remember)|tell me)\s+"
    r"(?:what\s+)?my\s+(?P<subject>\w[\w' -]{0,40}?)(?:\s+(?:is|are))?\s*[?.!]*\s*$",
    _FLAGS,
)
_RECALL_ALL = re.compile(
    r"\bwhat\b.*\b(?:do you remember|(?:did|have) i (?:say|said|tell|told|ask))|"
    r"\bwho am i\b|\bwhat do you know about me\b",
    _FLAGS,
)
_FILE = re.compile(
    r"(?<!\w)[`\"'](?P<quoted>[^`\"'\n]+)[`\"']"
    r"|(?P<plain>(?:~|\.{1,2})?/[\w./-]*\w|(?:[\w.-]+/)*[\w.-]*\.[a-z]\w{0,7}\b)",
    _FLAGS,
)
_ONE_WORD = re.compile(
    r"\s*(?:please\s+)?(?:read|open|cat)\s+(?:the\s+)?(?:file\s+)?(?P<path>[\w-]{3,})[.!?\s]*",
    _FLAGS,
)
_NO_PATH = frozenset({"file", "files", "something", "that", "this", "them", "aloud"})
_READING = re.compile(
    r"\b(?:read|open|show|print|cat|display|summari[sz]e|look (?:at|into)|what(?:'s| is) in)\b",
    _FLAGS,
)
_TIME = re.compile(
    r"\bwhat(?:'s| is)?\s+(?:the\s+)?(?:current\s+)?(?:local\s+)?(?:time|date|day)\b"
    r"|\bhow late\b|\btime\b.*\b(?:in|at)\b|\bclock\b|^\s*time\s*\??\s*$",
    _FLAGS,
)
_PLACES = re.compile(r"\b(?:in|at|for)\s+(?P<places>[^?!]+)", _FLAGS)
_BETWEEN = re.compile(r",|\band\b|\bor\b|\bvs\.?|&|\bin\b|\bat\b|\bfor\b", _FLAGS)
_FILLER = re.compile(
    r"^(?:the|also|city of|right|please)\s+|\s+(?:now|right now|please|today|at the moment|time)$",
    _FLAGS,
)
_NOT_A_PLACE = frozenset(
    {"", "moment", "now", "it", "there", "the moment", "is it", "this", "here"}
)
_CLAUSE_END = re.compile(
    r"[?!;\n]+|\.\s|,?\s*\b(?:and|then|also)\s+(?:(?:then|also|please)\s+)*"
    r"(?=(?:what|how late|calculate|compute|read|open|show|print|cat|display|summari[sz]e"
    r"|tell|the time|time)\b)",
    _FLAGS,
)
_CALCULATING = re.compile(r"\b(?:calculat|comput|arithmetic|do (?:some )?math|add up)", _FLAGS)
_SPOKEN = (
    (r"(\d+(?:\.\d+)?)\s*(?:%|percent)\s+of\s+", r"\1/100*"),
    (r"\bsquare root of\s+", "sqrt "),
    (r"\s+(?:plus)\s+", "+"),
    (r"\s+(?:minus)\s+", "-"),
    (r"\s+(?:times|multiplied by|x)\s+(?=[\d(])", "*"),
    (r"\s+(?:divided by|over)\s+", "/"),
    (r"\s+to the power of\s+", "^"),
    (r"\s+squared\b", "^2"),
    (r"\s+cubed\b", "^3"),
    (r"(?<=\d),(?=\d{3}\b)", ""),
)
_EXPRESSION = re.compile(
    r"(?:(?:sqrt|abs|round|min|max|ln|log10|exp)\s*|pi\b|[-+(√.]|(?<![\w.])\d|(?<=[(])\d)"
    r"(?:[\d \t.()+*/^%×÷·−√,-]|sqrt|abs|round|min|max|ln|log10|exp|pi\b)*",
    re.IGNORECASE,
)
_HAS_WORK = re.compile(
    r"[\d)i]\s*(?:\*\*|//|[-+*/^%×÷·−])\s*[-(.\d√a-z]|sqrt|abs|round|min|max|ln|log10|exp|√", re.I
)
# "3-5" and "2024-05" are ranges and dates, unless nothing else is said.
_RANGE = re.compile(r"\d+(?:-\d+)+")
_ASKED = re.compile(r"\W*(?:(?:and\s+)?what(?:'s|\s+is)|calculate|compute)?\s*0\s*[=?.!\s]*", re.I)
_SMALL = (
    ("help", r"^\s*(?:help|\?)\W*$|what can (?:you|i) (?:do|ask|try)|how does this work"),
    (
        "who",
        r"\bwho are (?:you|we|they|all)\b|what are you\b|\byour name\b|introduce yourself"
        r"|are you (?:a |an )?(?:real|human|bot|ai|demo|model)",
    ),
    ("thanks", r"^\s*(?:many )?(?:thanks|thank you|thx|cheers|great|perfect|nice)\b"),
    ("bye", r"^\s*(?:good ?bye|bye|see you|ciao)\b"),
    (
        "hello",
        r"^\s*(?:hello|hi|hey|hallo|good (?:morning|afternoon|evening)|greetings|moin|yo)\b",
    ),
)


def understand(message: str) -> Intent:
    """What the message is taken to be about."""
    text = without_author(message).replace("’", "'")
    if review := _REVIEW.fullmatch(text):
        return Review(review["text"].strip())
    if (found := _RECALL.search(text)) and "your name" not in text.lower():
        return Recall(found["subject"].strip().lower())
    if _RECALL_ALL.search(text):
        return Recall()
    if remember := _REMEMBER.fullmatch(text):
        return Remember(remember["fact"].strip())
    if work := _work(text):
        return _several(text) or work
    return _small(text) or (Remember(text.strip()) if facts(text) else Unknown())


def without_author(message: str) -> str:
    """The message without the line that says who of several people wrote it."""
    return _AUTHOR_LINE.sub("", message, count=1) if _AUTHOR_LINE.match(message) else message


def facts(message: str) -> dict[str, str]:
    """What a person said of themselves: subjects and values, e.g. {"name": "Ada"}."""
    text = without_author(message)
    if "?" in text:
        return {}
    found = {match["subject"].lower(): match["value"].strip() for match in _MY_IS.finditer(text)}
    if called := _CALL_ME.search(text):
        found["name"] = called["value"]
    return found


def places(text: str) -> tuple[str, ...]:
    """The places a text names, where it is about time."""
    found = _PLACES.search(text)
    return _split_places(found["places"]) if found else ()


def named_places(text: str) -> tuple[str, ...]:
    """The places in an answer to the question for one."""
    return places(text) or _split_places(text)


def named_paths(text: str) -> tuple[str, ...]:
    """The files a text names."""
    found = [match["quoted"] or match["plain"] for match in _FILE.finditer(text)]
    if not found and (one := _ONE_WORD.fullmatch(text)) and one["path"].lower() not in _NO_PATH:
        found = [one["path"]]
    return tuple(dict.fromkeys(found))


def expressions(text: str) -> tuple[str, ...]:
    """The arithmetic in a text."""
    spoken = text
    for pattern, replacement in _SPOKEN:
        spoken = re.sub(pattern, replacement, spoken, flags=re.IGNORECASE)
    found = (
        match[0].lstrip(" \t,.").rstrip(" \t,.-+*/^") for match in _EXPRESSION.finditer(spoken)
    )
    return tuple(dict.fromkeys(one for one in found if _is_arithmetic(one, spoken)))


def _several(text: str) -> Several | None:
    """The works of the text's clauses, joined by kind; None unless they are of several kinds."""
    named: dict[type[Calculate | Time | ReadFile], list[str]] = {}
    for clause in _CLAUSE_END.split(text):
        match _work(clause):
            case Calculate(given) | Time(given) | ReadFile(given) as work:
                named.setdefault(type(work), []).extend(given)
            case None:
                pass
    works = tuple(kind(tuple(dict.fromkeys(given))) for kind, given in named.items())
    return Several(works) if len(works) > 1 else None


def _work(text: str) -> Work | None:
    """What needs one of the specialist's tools."""
    if _READING.search(text) and (paths := named_paths(text)):
        return ReadFile(paths)
    if _TIME.search(text):
        return Time(places(text))
    if found := expressions(text):
        return Calculate(found)
    if _READING.search(text) and re.search(r"\bfile\b", text, _FLAGS):
        return ReadFile()
    return Calculate() if _CALCULATING.search(text) else None


def _small(text: str) -> Small | None:
    for kind, pattern in _SMALL:
        if re.search(pattern, text, _FLAGS):
            return Small(kind)
    return None


def _split_places(text: str) -> tuple[str, ...]:
    found: list[str] = []
    for part in _BETWEEN.split(text):
        place = part.strip(" \t\n.?!\"'`")
        while (shorter := _FILLER.sub("", place).strip()) != place:
            place = shorter
        if place.lower() not in _NOT_A_PLACE:
            found.append(place)
    return tuple(dict.fromkeys(found))


def _is_arithmetic(expression: str, text: str) -> bool:
    if _RANGE.fullmatch(expression) and not _ASKED.fullmatch(text.replace(expression, "0")):
        return False
    return _HAS_WORK.search(expression) is not None and _readable(expression)


def _readable(expression: str) -> bool:
    try:
        calculate(expression)
    except CalculationError as error:
        # What has no value is arithmetic all the same, and the calculator will say so.
        return "divides" in str(error) or "too large" in str(error) or "no value" in str(error)
    return True
