r"""Formulas, which no chat platform draws, as code that reads well.

Pure, for text without code. `\(a^2\)` and `$a^2$` become `a²`, and `\[...\]` and `$$...$$` a block.
"""

from __future__ import annotations

import re

from gateway.render.code import keep

LONGEST = 2_000
"""Characters of a formula; what is longer stays as it is."""

_DOLLARS = r"\$(?![\s$])[^$\n\ud800-\udfff]{1,300}?(?<![\s\\])\$(?![\w$])"
_FORMULA = re.compile(
    r"(?<![\\$\w])(?:"
    rf"\$\$(?P<block>[^$]{{1,{LONGEST}}}+)\$\$"
    rf"|\\\[(?P<square>(?:[^\\]|\\(?![\[\]])){{1,{LONGEST}}}+)\\\]"
    rf"|\\\((?P<round>(?:[^\\\n]|\\(?![()\n])){{1,{LONGEST}}}+)\\\)"
    rf"|(?P<dollars>{_DOLLARS}))"
)
_STAND_IN = re.compile("[\ud800-\udfff]")
_SIGNS = re.compile(r"[\\^_={}<>+]")
_OPENED = re.compile(r"\$\$|\\\[|\\\(|\$(?=[^\s\d$])")

_GREEK = (
    "alpha beta gamma delta epsilon varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho "
    "sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"
)
_NAMES = (
    "times cdot div pm mp leq le geq ge neq ne approx equiv sim propto infty sum prod int partial "
    "nabla in notin subset subseteq cup cap emptyset forall exists neg land lor to rightarrow "
    "leftarrow Rightarrow Leftarrow iff mapsto ldots cdots dots circ degree ell hbar langle rangle "
    "mid parallel perp angle therefore sqrt"
)
_RELATIONS = (
    "times cdot div leq le geq ge neq ne approx equiv sim propto in notin subset subseteq cup cap "
    "land lor to rightarrow leftarrow Rightarrow Leftarrow iff mapsto mid parallel perp"
)
_SAME = "sin cos tan log ln exp lim max min sup inf det mod gcd"
_SIZES = "left right displaystyle big Big bigg Bigg limits"
_WORDS = {
    **dict(zip(_GREEK.split(), "αβγδεεζηθικλμνξπρστυφφχψωΓΔΘΛΞΠΣΦΨΩ", strict=True)),
    **dict(
        zip(
            _NAMES.split(),
            "\u00d7·÷±∓≤≤≥≥≠≠≈≡\u223c∝∞∑∏∫∂∇∈∉⊂⊆\u222a∩∅∀∃¬∧\u2228→→←⇒⇐⇔↦…⋯…∘°ℓℏ⟨⟩\u2223∥⊥∠∴√",
            strict=True,
        )
    ),
    **{word: word for word in _SAME.split()},
    **dict.fromkeys(_SIZES.split(), ""),
    "quad": "\u2003",
    "qquad": "\u2003\u2003",
}
_SPACED = frozenset(_RELATIONS.split())
_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_STYLED = re.compile(
    r"\\(?:text|mathrm|mathbf|mathit|mathbb|mathcal|operatorname|boxed)\s*\{([^{}]*)\}"
)
_ROOT = re.compile(r"\\sqrt\s*\{([^{}]*)\}")
_COMMAND = re.compile(r"\\([A-Za-z]+) ?")
_MARK = re.compile(r"\\[,;:! ]|\\([{}%$&#_|])")
_RAISED = re.compile(r"\^(?:\{([^{}]*)\}|(\S))")
_LOWERED = re.compile(r"_(?:\{([^{}]*)\}|(\S))")
_UP = dict(zip("0123456789+-=()nixTabcdekmt", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱˣᵀᵃᵇᶜᵈᵉᵏᵐᵗ", strict=True))
_DOWN = dict(zip("0123456789+-=()aeijkmnoprstx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑᵢⱼₖₘₙₒₚᵣₛₜₓ", strict=True))
_SPACES = re.compile(" {2,}")
_NESTED = 4


def show_formulas(text: str, kept: list[str]) -> str:
    """The text with its formulas as kept code."""
    if "$" not in text and "\\(" not in text and "\\[" not in text:
        return text
    return _FORMULA.sub(lambda found: _shown(found, kept), text)


def open_formula(text: str, start: int) -> int | None:
    """The start of an unfinished formula at or after `start`."""
    found = _OPENED.search(text, start)
    return found.start() if found else None


def plain_formula(formula: str) -> str:
    """A formula in the characters that Unicode has for it."""
    for _ in range(_NESTED):
        before = formula
        formula = _STYLED.sub(r"\1", _FRACTION.sub(_fraction, formula))
        formula = _ROOT.sub(r"√(\1)", formula)
        if formula == before:
            break
    formula = _MARK.sub(lambda found: found[1] or " ", formula.replace("\\\\", "\n"))
    formula = _COMMAND.sub(_command, formula)
    formula = _RAISED.sub(lambda found: _set(found, "^", _UP), formula)
    formula = _LOWERED.sub(lambda found: _set(found, "_", _DOWN), formula)
    return _SPACES.sub(" ", formula).strip()


def _shown(found: re.Match[str], kept: list[str]) -> str:
    block = found["block"] or found["square"]
    inner = block or found["round"] or found["dollars"][1:-1]
    if "`" in inner or _STAND_IN.search(inner):
        return found[0]
    doubtful = found["square"] or (found["dollars"] and len(inner) > 1)
    if doubtful and not _SIGNS.search(inner):
        return found[0]  # escaped brackets, or two sums of money
    lines = [line.strip() for line in plain_formula(inner).splitlines() if line.strip()]
    # On one line: a table's row and a quotation end with it.
    return "; ".join(keep(f"`{line}`", kept) for line in lines) or found[0]


def _fraction(found: re.Match[str]) -> str:
    return "/".join(part if part.isalnum() else f"({part})" for part in found.groups())


def _command(found: re.Match[str]) -> str:
    """The character for a command; relations and operations stand between spaces."""
    shown = _WORDS.get(found[1], found[0])
    return f" {shown} " if found[1] in _SPACED else shown


def _set(found: re.Match[str], mark: str, letters: dict[str, str]) -> str:
    """Raised or lowered characters, small where there are such."""
    part = found[1] if found[1] is not None else found[2]
    if part and all(letter in letters for letter in part):
        return "".join(letters[letter] for letter in part)
    return f"{mark}{part}" if len(part) == 1 else f"{mark}({part})"
