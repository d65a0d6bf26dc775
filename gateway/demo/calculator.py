"""A calculator in decimals, which never executes the text."""

# ruff: noqa: RUF001 (people write signs that look like others)

from __future__ import annotations

import ast
import decimal
import re
from collections.abc import Callable, Mapping
from decimal import Decimal

LONGEST = 200
"""Characters that an expression may have."""
DIGITS = 60
"""Digits of an exact result; any other is shown with SHOWN_DIGITS."""
SHOWN_DIGITS = 15

_READABLE = re.compile(r"(?:[0-9.\s()+*/%-]|sqrt)+")
_SPELLED = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "^": "**"})


class CalculationError(ValueError):
    """An expression that can't be read or has no value."""


def calculate(expression: str) -> str:
    """Compute arithmetic: numbers, signs, brackets and sqrt.

    Raises CalculationError.
    """
    if len(expression) > LONGEST:
        raise CalculationError(f"The expression is longer than {LONGEST} characters.")
    text = " ".join(expression.lower().translate(_SPELLED).split())
    tree = _parse(text)
    with decimal.localcontext(decimal.Context(prec=DIGITS)) as context:
        try:
            value = _value(tree, text)
        except decimal.DivisionByZero:
            raise CalculationError("That divides by zero.") from None
        except decimal.Overflow:
            raise CalculationError("The result is too large.") from None
        except decimal.InvalidOperation:
            raise CalculationError("That has no value among the real numbers.") from None
        return _formatted(value, exact=not context.flags[decimal.Inexact])


def _parse(text: str) -> ast.expr:
    try:
        if _READABLE.fullmatch(text):
            return ast.parse(text, mode="eval").body
    except (SyntaxError, MemoryError, RecursionError):  # the last two: brackets nested too deeply
        pass
    raise CalculationError(f"I can't read {text!r}.")


def _value(node: ast.expr, text: str) -> Decimal:
    match node:
        case ast.Constant(value=int() | float()):
            return Decimal(text[node.col_offset : node.end_col_offset])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, text)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand, text)
        case ast.BinOp(left=left, op=sign, right=right):
            return _OPERATIONS[type(sign)](_value(left, text), _value(right, text))
        case ast.Call(func=ast.Name(id="sqrt"), args=[inner], keywords=[]):
            return _value(inner, text).sqrt()
        case _:
            raise CalculationError(f"I can't read {text!r}.")


def _floor(left: Decimal, right: Decimal) -> Decimal:
    return (left / right).to_integral_value(decimal.ROUND_FLOOR)


_OPERATIONS: Mapping[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: Decimal.__add__,
    ast.Sub: Decimal.__sub__,
    ast.Mult: Decimal.__mul__,
    ast.Div: Decimal.__truediv__,
    ast.FloorDiv: _floor,
    ast.Mod: lambda left, right: left - right * _floor(left, right),
    ast.Pow: Decimal.__pow__,
}


def _formatted(value: Decimal, *, exact: bool) -> str:
    if not exact:
        value = decimal.Context(prec=SHOWN_DIGITS).create_decimal(value)
    digits = DIGITS if exact else SHOWN_DIGITS
    if value == value.to_integral_value() and value.adjusted() < digits:
        return f"{value.to_integral_value():f}" if value else "0"
    if -SHOWN_DIGITS < value.adjusted() < SHOWN_DIGITS:
        return f"{value.normalize():f}"
    return f"{value.normalize():e}".replace("e+", "e")
