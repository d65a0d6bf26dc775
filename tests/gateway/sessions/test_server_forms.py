"""Forms of servers as questions, and words as values."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.sessions.server_forms import form_of


def form(properties: dict[str, Any], *required: str) -> Any:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return form_of({"message": "Tell me.", "requestedSchema": schema})


def taken(schema: dict[str, Any], text: str) -> Any:
    content: dict[str, Any] = {}
    form({"it": schema}, "it").fields[0].take(text, content)
    return content["it"]


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, "some words", "some words"),
        ({"type": "integer"}, "-3", -3),
        ({"type": "number"}, "2.5", 2.5),
        ({"type": "boolean"}, "yes", True),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["First", "Second"]}, "second", "b"),
        ({"type": "string", "oneOf": [{"const": "a", "title": "First"}]}, "First", "a"),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, "a, B", ["a", "b"]),
    ],
)
def test_words_become_values(schema: dict[str, Any], text: str, value: object) -> None:
    assert taken(schema, text) == value


@pytest.mark.parametrize(
    ("schema", "text", "why"),
    [
        ({"type": "integer"}, "2.5", "'2.5' is not a whole number."),
        ({"type": "number"}, "much", "'much' is not a number."),
        ({"type": "string", "enum": ["a"]}, "b", "'b' is none of: a."),
        ({"type": "array", "items": {"enum": ["a"]}}, "a, c", "'c' is none of: a."),
    ],
)
def test_words_that_do_not_fit_are_told_why(schema: dict[str, Any], text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why.replace(".", r"\.")):
        taken(schema, text)


def test_an_optional_field_can_be_left_out() -> None:
    [field] = form({"it": {"type": "boolean"}}).fields
    assert field.options == ("Yes", "No", "Skip", "Decline", "Cancel")
    content: dict[str, Any] = {}
    field.take("Skip", content)
    assert content == {}


def test_a_question_says_its_field_and_what_was_wrong() -> None:
    asked = form({"age": {"type": "integer", "title": "Age", "description": "In years."}}, "age")
    assert asked.prompt(asked.fields[0], "shop", "'x' is not a whole number.").splitlines() == [
        "The server shop asks: Tell me.",
        "age: Age: In years. (a whole number)",
        "Write an answer, or one of: Decline, Cancel.",
        "'x' is not a whole number.",
    ]


def test_free_text_offers_nothing_that_a_digit_would_choose() -> None:
    text, several = form(
        {"a": {"type": "string"}, "b": {"type": "array", "items": {"enum": ["x"]}}}, "a"
    ).fields
    assert text.options == several.options == ()
    assert (text.word(" cancel "), text.word("skip"), several.word("SKIP")) == (
        "Cancel",
        "",
        "Skip",
    )


def test_a_form_without_fields_asks_for_agreement() -> None:
    asked = form({})
    assert asked.fields[0].options == ("Accept", "Decline", "Cancel")
    content: dict[str, Any] = {}
    asked.fields[0].take("Accept", content)
    assert (content, asked.has_content) == ({}, True)


def test_an_address_is_shown_and_has_no_content() -> None:
    asked = form_of({"mode": "url", "message": "Log in.", "url": "https://a.example"})
    assert asked.prompt(asked.fields[0], "shop", "").endswith("Log in.\nhttps://a.example")
    assert asked.fields[0].options == ("Done", "Decline", "Cancel")
    assert not asked.has_content


def test_a_form_has_a_bounded_number_of_fields() -> None:
    with pytest.raises(ValueError, match="20 fields"):
        form({f"f{n}": {"type": "string"} for n in range(21)})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "enum": ["x" * 9_001]},
        {"type": "string", "enum": [f"{n:03}{'x' * 30}" for n in range(300)]},
        {"type": "string", "oneOf": [{"const": n, "title": f"{n:09000}"} for n in range(2)]},
        {"type": "array", "items": {"type": "string", "enum": [f"{n:090}" for n in range(101)]}},
        {"type": "string", "enum": ["a"], "enumNames": ["x" * 1_000_000]},
    ],
)
def test_choices_that_no_menu_takes_are_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="9000 characters"):
        form({"it": schema})


def test_the_names_of_all_countries_are_choices() -> None:
    assert len(form({"it": {"enum": [f"{n:035}" for n in range(250)]}}).fields[0].choices) == 250
