"""Termination conditions as text: their meaning, and messages about mistakes."""

from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.config.expressions import (
    AllOf,
    AnyOf,
    Condition,
    Expression,
    ExpressionError,
    Value,
    parse,
)


def outline(tree: Expression) -> object:
    """The tree without positions.

    Lists for `&` and `|`, calls as (name, positional, named).
    """
    match tree:
        case AnyOf(conditions):
            return ["|", *map(outline, conditions)]
        case AllOf(conditions):
            return ["&", *map(outline, conditions)]
        case Condition():
            given = [each.value for each in tree.arguments if not each.name]
            named = {each.name: each.value for each in tree.arguments if each.name}
            return (tree.name, given, named)


A, B, C = ("A", [], {}), ("B", [], {}), ("C", [], {})


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("A()", A),
        ("MaxMessage(30)", ("MaxMessage", [30], {})),
        ("A() | B() | C()", ["|", A, B, C]),
        ("A() & B() | C()", ["|", ["&", A, B], C]),
        ("A() | B() & C()", ["|", A, ["&", B, C]]),
        ("(A() | B()) & C()", ["&", ["|", A, B], C]),
        ("((A()))", A),
        ("\n  A()\n  | B()\n", ["|", A, B]),
        ("X('DONE', sources=['a', \"b\",],)", ("X", ["DONE"], {"sources": ["a", "b"]})),
        (
            "X(n=1, on=True, off=false, no=None)",
            ("X", [], {"n": 1, "on": True, "off": False, "no": None}),
        ),
        ("X(-1, +2, 0.5, .5, 1e3, 2.)", ("X", [-1, 2, 0.5, 0.5, 1000.0, 2.0], {})),
        ("X([], [[1], ['x']])", ("X", [[], [[1], ["x"]]], {})),
        (
            r"""X('it\'s', "a|b & (c)", 'tab\tnew\nline\\')""",
            ("X", ["it's", "a|b & (c)", "tab\tnew\nline\\"], {}),
        ),
        ("X('日本')", ("X", ["日本"], {})),
    ],
)
def test_an_expression_means(text: str, meaning: object):
    assert outline(parse(text)) == meaning


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "TextMention('DONE') | MaxMessage(30",
            """\
            '(' is never closed
              TextMention('DONE') | MaxMessage(30
                                              ^""",
        ),
        (
            "MaxMessage",
            """\
            a condition needs parentheses: MaxMessage(...)
              MaxMessage
              ^^^^^^^^^^""",
        ),
        (
            "A()\n|\tB(x y)",
            """\
            text needs quotes: 'x'
              |\tB(x y)
               \t  ^""",
        ),
        (
            "A('DONE",
            """\
            text without a closing quote
              A('DONE
                ^^^^^""",
        ),
        (
            "A() or B()",
            """\
            expected `|`, `&` or the end
              A() or B()
                  ^^""",
        ),
    ],
)
def test_a_mistake_is_shown_where_it_stands(text: str, said: str):
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert str(caught.value) == dedent(said)


@pytest.mark.parametrize(
    ("text", "problem", "column"),
    [
        ("", "the expression is empty", 0),
        ("   ", "the expression is empty", 3),
        ("A() |", "expected a condition, such as MaxMessage(30)", 5),
        ("A() | | B()", "expected a condition, such as MaxMessage(30)", 6),
        ("30", "expected a condition, such as MaxMessage(30)", 0),
        ("(A()", "'(' is never closed", 0),
        ("A())", "expected `|`, `&` or the end", 3),
        ("A(1 2)", "expected `,` or `)`", 4),
        ("A(,)", "expected a value: text in quotes, a number or a list", 2),
        ("A([1", "'[' is never closed", 2),
        ("A([1)", "expected `,` or `]`", 4),
        ("A(x=1, x=2)", "'x' is given twice", 7),
        ("A(x=1, 2)", "an argument without a name follows a named one", 7),
        ("A('\\q')", "unknown escape '\\\\q'", 3),
        ("A(B())", "text needs quotes: 'B'", 2),
        ("A(" + "9" * 5000 + ")", "the number has too many digits", 2),
        ("A() ; B()", "unexpected ';'", 4),
        ("A().x", "unexpected '.'", 3),
        ("__import__('os').system('id')", "unexpected '.'", 16),
        ("(" * 50 + "A()" + ")" * 50, "nested more than 40 levels deep", 40),
        ("A(" + "[" * 5000, "nested more than 40 levels deep", 42),
    ],
)
def test_a_mistake_names_problem_and_position(text: str, problem: str, column: int):
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert (caught.value.problem, caught.value.span.start) == (problem, column)


@given(st.text() | st.text(alphabet="AB(),|&[]='\"\\ 1.e-\n"))
def test_any_text_is_parsed_or_refused_with_a_position(text: str):
    try:
        parse(text)
    except ExpressionError as error:
        refused = error
    else:
        return
    assert 0 <= refused.span.start <= len(text)
    assert "^" in str(refused)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet="ab'\"\\\n\t|()é"),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


@given(values)
def test_every_value_survives_being_written_down(value: Value):
    tree = parse(f"A(x={value!r})")
    assert outline(tree) == ("A", [], {"x": value})
