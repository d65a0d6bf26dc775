"""Termination conditions as text, such as `TextMention('DONE') | MaxMessage(30)`: parsed, not run.

    expression  = all { "|" all }                  any of them ends the run
    all         = term { "&" term }                all of them do; binds tighter than |
    term        = "(" expression ")" | kind "(" [ argument { "," argument } [","] ] ")"
    kind        = NAME | IMPORT PATH               ours or a plugin's, or one's own: a.b:Class
    argument    = [ NAME "=" ] value
    value       = 'text' | "text" | number | True | False | None | "[" [ value { "," value } ] "]"

`gateway.factory.conditions` makes the conditions of the tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias, cast

Value: TypeAlias = "str | int | float | bool | list[Value] | None"
Expression: TypeAlias = "Condition | AllOf | AnyOf"

_DEEPEST = 40
_CONSTANTS: Mapping[str, bool | None] = {
    "True": True,
    "False": False,
    "None": None,
    "true": True,  # as TOML writes them
    "false": False,
}
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
_TOKEN = re.compile(
    r"""
    (?P<space>   \s+ )
  | (?P<name>    [^\W\d]\w* (?: (?: \.[^\W\d]\w* )* : [^\W\d]\w* (?: \.[^\W\d]\w* )* )? )
  | (?P<number>  [+-]? (?: \d+ (?: \.\d* )? | \.\d+ ) (?: [eE][+-]?\d+ )? )
  | (?P<text>    '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )
  | (?P<sign>    [()\[\],=|&] )
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Span:
    """Offsets of a part of the text: its start and its end."""

    start: int
    end: int


class ExpressionError(ValueError):
    """A mistake in an expression; `str()` shows the line with carets below."""

    def __init__(self, problem: str, text: str, span: Span) -> None:
        super().__init__(problem)
        self.problem = problem
        self.text = text
        self.span = span

    def __str__(self) -> str:
        begin = self.text.rfind("\n", 0, self.span.start) + 1
        line = self.text[begin:].split("\n", 1)[0]
        column = self.span.start - begin
        padding = re.sub(r"\S", " ", line[:column]).ljust(column)
        carets = "^" * max(1, min(self.span.end, begin + len(line)) - self.span.start)
        return f"{self.problem}\n  {line}\n  {padding}{carets}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument of a condition; `name` is empty for a positional one."""

    name: str
    value: Value
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A single condition by its name, short or full, or import path."""

    name: str
    arguments: tuple[Argument, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class AllOf:
    """Holds once each of its conditions was met."""

    conditions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Holds as soon as one of its conditions is met."""

    conditions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    span: Span


@lru_cache(maxsize=256)
def parse(text: str) -> Expression:
    """The meaning of the text as a tree. Raises ExpressionError."""
    return _Parser(text).parse()


def conditions_in(tree: Expression) -> Iterator[Condition]:
    """The single conditions of an expression, in order."""
    if isinstance(tree, Condition):
        yield tree
    else:
        for each in tree.conditions:
            yield from conditions_in(each)


def texts_in(value: object) -> Iterator[str]:
    """The texts in an argument."""
    match value:
        case str():
            yield value
        case list() | tuple():
            for each in cast("list[object]", value):
                yield from texts_in(each)
        case _:
            pass


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_tokens(text))
        self._next = 0
        self._depth = 0

    def parse(self) -> Expression:
        if self._look("end"):
            raise self._error("the expression is empty")
        tree = self._any_of()
        if not self._look("end"):
            raise self._error("expected `|`, `&` or the end")
        return tree

    def _any_of(self) -> Expression:
        conditions = [self._all_of()]
        while self._accept("|"):
            conditions.append(self._all_of())
        return conditions[0] if len(conditions) == 1 else AnyOf(tuple(conditions))

    def _all_of(self) -> Expression:
        conditions = [self._term()]
        while self._accept("&"):
            conditions.append(self._term())
        return conditions[0] if len(conditions) == 1 else AllOf(tuple(conditions))

    def _term(self) -> Expression:
        if opening := self._accept("("):
            self._enter(opening)
            tree = self._any_of()
            self._close(")", opening)
            return tree
        if not (name := self._accept("name")):
            raise self._error("expected a condition, such as MaxMessage(30)")
        if not (opening := self._accept("(")):
            raise self._error(f"a condition needs parentheses: {name.text}(...)", name.span)
        arguments = tuple(self._arguments(opening))
        end = self._tokens[self._next - 1].span.end
        return Condition(name=name.text, arguments=arguments, span=Span(name.span.start, end))

    def _arguments(self, opening: _Token) -> Iterator[Argument]:
        named: set[str] = set()
        while not self._look(")"):
            argument = self._argument()
            if argument.name in named:
                raise self._error(f"{argument.name!r} is given twice", argument.span)
            if named and not argument.name:
                raise self._error("an argument without a name follows a named one", argument.span)
            named |= {argument.name} - {""}
            yield argument
            if not self._accept(","):
                break
        self._close(")", opening)

    def _argument(self) -> Argument:
        first = self._tokens[self._next]
        name = ""
        if first.kind == "name" and self._tokens[self._next + 1].kind == "=":
            name = first.text
            self._next += 2
        value = self._value()
        end = self._tokens[self._next - 1].span.end
        return Argument(name=name, value=value, span=Span(first.span.start, end))

    def _value(self) -> Value:
        token = self._tokens[self._next]
        self._next += 1
        match token.kind:
            case "text":
                return self._unescape(token)
            case "number":
                return self._number(token)
            case "name" if token.text in _CONSTANTS:
                return _CONSTANTS[token.text]
            case "[":
                return self._list(token)
            case "name":
                raise self._error(f"text needs quotes: {token.text!r}", token.span)
            case _:
                raise self._error(
                    "expected a value: text in quotes, a number or a list", token.span
                )

    def _list(self, opening: _Token) -> list[Value]:
        self._enter(opening)
        values: list[Value] = []
        while not self._look("]"):
            values.append(self._value())
            if not self._accept(","):
                break
        self._close("]", opening)
        return values

    def _number(self, token: _Token) -> int | float:
        try:
            return float(token.text) if re.search(r"[.eE]", token.text) else int(token.text)
        except ValueError as error:  # more digits than Python reads
            raise self._error("the number has too many digits", token.span) from error

    def _unescape(self, token: _Token) -> str:
        def replace(escape: re.Match[str]) -> str:
            if escape[1] not in _ESCAPES:
                at = token.span.start + 1 + escape.start()
                raise self._error(f"unknown escape {escape[0]!r}", Span(at, at + 2))
            return _ESCAPES[escape[1]]

        return re.sub(r"\\(.)", replace, token.text[1:-1], flags=re.DOTALL)

    def _look(self, kind: str) -> bool:
        return self._tokens[self._next].kind == kind

    def _accept(self, kind: str) -> _Token | None:
        if not self._look(kind):
            return None
        self._next += 1
        return self._tokens[self._next - 1]

    def _enter(self, opening: _Token) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error(f"nested more than {_DEEPEST} levels deep", opening.span)

    def _close(self, sign: str, opening: _Token) -> None:
        if not self._accept(sign):
            if self._look("end"):
                raise self._error(f"{opening.text!r} is never closed", opening.span)
            raise self._error(f"expected `,` or `{sign}`")
        self._depth -= 1

    def _error(self, problem: str, span: Span | None = None) -> ExpressionError:
        return ExpressionError(problem, self._text, span or self._tokens[self._next].span)


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            problem = "text without a closing quote" if text[at] in "'\"" else "unexpected"
            end = len(text) if text[at] in "'\"" else at + 1
            detail = "" if end > at + 1 else f" {text[at]!r}"
            raise ExpressionError(f"{problem}{detail}", text, Span(at, end))
        kind = found.lastgroup or ""
        if kind != "space":
            sign = found[0] if kind == "sign" else kind
            yield _Token(sign, found[0], Span(found.start(), found.end()))
        at = found.end()
    yield _Token("end", "", Span(len(text), len(text) + 1))
