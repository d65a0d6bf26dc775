"""Formulas as characters."""

import pytest

from gateway.render.code import change_prose
from gateway.render.formulas import plain_formula, show_formulas


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (r"Euler: \(e^{i\pi} + 1 = 0\).", "Euler: `e^(iπ) + 1 = 0`."),
        (r"$$a^2 + b^2 = c^2$$", "`a² + b² = c²`"),
        ("\\[\n x_1 = \\frac{a}{2b}\n\\]", "`x₁ = a/2b`"),
        ("$$a \\\\ b$$", "`a`; `b`"),
        ("| $$a \\\\ b$$ | c |", "| `a`; `b` | c |"),
        ("> $$a \\\\ b$$", "> `a`; `b`"),
        (r"from $a_n \leq x$ on", "from `aₙ ≤ x` on"),
        (r"\(\int_0^1 x^2 \, \mathrm{d}x \to \infty\)", "`∫₀¹ x² dx → ∞`"),
        (r"\(x \quad y\)", "`x \u2003y`"),
        (r"let $x$ be", "let `x` be"),
        (r"\(\text{speed} \times \sqrt{2}\)", "`speed \u00d7 √(2)`"),
        ("It costs $5 and $6.", "It costs $5 and $6."),
        ("$HOME and $PATH", "$HOME and $PATH"),
        (r"\[WIP\] and \[a](b)", r"\[WIP\] and \[a](b)"),
        (r"not `\(code\)`", r"not `\(code\)`"),
        (r"\(with `code`\)", r"\(with `code`\)"),
        (r"\(open", r"\(open"),
    ],
)
def test_a_formula_is_code_that_reads_well(text: str, shown: str) -> None:
    assert change_prose(text, show_formulas) == shown


def test_unknown_commands_stay() -> None:
    assert plain_formula(r"\unheard{x}") == r"\unheard{x}"
