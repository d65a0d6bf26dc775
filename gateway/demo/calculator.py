"""A calculator: reads arithmetic and computes it in decimals, without ever executing the text."""

# ruff: noqa: RUF001 (people write signs that look like others)

from __future__ import annotations

import decimal
import re
from collections.abc import Callable, Mapping
from decimal import Decimal

LONGEST = 200
"""Characters an expression may have."""
DIGITS = 60
"""Digits numbers are computed with; a result that needs more is shown with 15."""
SHOWN_DIGITS = 15
DEEPEST = 40
"""How deep brackets may be nested."""

_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?|\.\d+)|([a-z][a-z0-9]*)|(\*\*|//|[-+*/%^(),]))", re.I)
_SPELLED = str.maketrans(
    {"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "√": " sqrt ", "π": " pi "}
)
_SUMS = {"+", "-"}
_PRODUCTS = {"*", "/", "//", "%"}


class CalculationError(ValueError):
    """The expression can't be read or has no value; the text says why."""


def calculate(expression: str) -> str:
    """The value of an arithmetic expression, as people write numbers.

    Knows + - * / // % ^ ** and brackets, sqrt, abs, round, min, max, ln, log10, exp, pi and e.
    Raises CalculationError.
    """
    if len(expression) > LONGEST:
        raise CalculationError(f"The expression is longer than {LONGEST} characters.")
    tokens = _tokens(expression)
    with decimal.localcontext(decimal.Context(prec=DIGITS)) as context:
        try:
            value = _Reader(tokens).value()
            return _shown(value, exact=not context.flags[decimal.Inexact])
        except decimal.DivisionByZero:
            raise CalculationError("That divides by zero.") from None
        except decimal.Overflow:
            raise CalculationError("The result is too large.") from None
        except decimal.InvalidOperation:
            raise CalculationError("That has no value among the real numbers.") from None


def _tokens(expression: str) -> list[str]:
    text = expression.translate(_SPELLED).strip()
    tokens: list[str] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise CalculationError(f"I can't read {text[position:].strip()!r}.")
        tokens.append(match[0].strip().lower())
        position = match.end()
    return tokens


class _Reader:
    """Reads tokens by precedence: sums of products of signs of powers."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._position = 0
        self._depth = 0

    def value(self) -> Decimal:
        value = self._sum()
        if self._next() is not None:
            raise CalculationError(f"I did not expect {self._next()!r} there.")
        return value

    def _next(self) -> str | None:
        return self._tokens[self._position] if self._position < len(self._tokens) else None

    def _take(self) -> str:
        token = self._next()
        if token is None:
            raise CalculationError("The expression ends too early.")
        self._position += 1
        return token

    def _expect(self, wanted: str) -> None:
        token = self._take()
        if token != wanted:
            raise CalculationError(f"I expected {wanted!r} instead of {token!r}.")

    def _sum(self) -> Decimal:
        value = self._product()
        while self._next() in _SUMS:
            value = value + self._product() if self._take() == "+" else value - self._product()
        return value

    def _product(self) -> Decimal:
        value = self._sign()
        while self._next() in _PRODUCTS:
            operator = self._take()
            value = _multiply(value, operator, self._sign())
        return value

    def _sign(self) -> Decimal:
        self._depth += 1
        if self._depth > DEEPEST:
            raise CalculationError("The brackets are nested too deeply.")
        match self._next():
            case "-":
                self._take()
                value = -self._sign()
            case "+":
                self._take()
                value = self._sign()
            case _:
                value = self._power()
        self._depth -= 1
        return value

    def _power(self) -> Decimal:
        base = self._atom()
        if self._next() in ("^", "**"):
            self._take()
            return base ** self._sign()
        return base

    def _atom(self) -> Decimal:
        token = self._take()
        if token[0].isdigit() or token[0] == ".":
            return Decimal(token)
        if token == "(":
            value = self._sum()
            self._expect(")")
            return value
        if token in _CONSTANTS:
            decimal.getcontext().flags[decimal.Inexact] = True
            return _CONSTANTS[token]
        if token in _FUNCTIONS:
            return _FUNCTIONS[token](self._arguments(token))
        raise CalculationError(f"I don't know {token!r}.")

    def _arguments(self, function: str) -> list[Decimal]:
        if self._next() != "(":  # "sqrt 16", as in √16
            return [self._power()]
        self._take()
        values = [self._sum()]
        while self._next() == ",":
            self._take()
            values.append(self._sum())
        self._expect(")")
        if len(values) > 1 and function not in ("min", "max", "round"):
            raise CalculationError(f"{function} takes one number.")
        return values


def _multiply(left: Decimal, operator: str, right: Decimal) -> Decimal:
    match operator:
        case "*":
            return left * right
        case "/":
            return left / right
        case "//":
            return (left / right).to_integral_value(decimal.ROUND_FLOOR)
        case _:
            return left - right * (left / right).to_integral_value(decimal.ROUND_FLOOR)


def _rounded(values: list[Decimal]) -> Decimal:
    places = values[1] if len(values) > 1 else Decimal(0)
    if abs(places) > SHOWN_DIGITS:
        raise CalculationError(f"round takes at most {SHOWN_DIGITS} places.")
    return round(values[0], int(places))


_CONSTANTS: Mapping[str, Decimal] = {
    "pi": Decimal("3.14159265358979323846264338327950288419716939937510582097494"),
    "e": Decimal("2.71828182845904523536028747135266249775724709369995957496697"),
}
_FUNCTIONS: Mapping[str, Callable[[list[Decimal]], Decimal]] = {
    "sqrt": lambda values: values[0].sqrt(),
    "abs": lambda values: abs(values[0]),
    "ln": lambda values: values[0].ln(),
    "log10": lambda values: values[0].log10(),
    "exp": lambda values: values[0].exp(),
    "min": min,
    "max": max,
    "round": _rounded,
}


def _shown(value: Decimal, *, exact: bool) -> str:
    if not exact:
        value = decimal.Context(prec=SHOWN_DIGITS).create_decimal(value)
    digits = DIGITS if exact else SHOWN_DIGITS
    if value == value.to_integral_value() and value.adjusted() < digits:
        return f"{value.to_integral_value():f}" if value else "0"
    if -SHOWN_DIGITS < value.adjusted() < SHOWN_DIGITS:
        return f"{value.normalize():f}"
    return f"{value.normalize():e}".replace("e+", "e")
