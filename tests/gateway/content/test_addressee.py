"""The agent to which a text is addressed."""

import pytest

from gateway.content.addressee import addressee_of, as_mention

NAMES = ("coder", "coder-2", "Code Reviewer", "Ann", "ann", "Bob", "coder")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("@coder fix it", "coder"),
        ("@CODER: fix it", "coder"),
        ("@coder, fix it", "coder"),
        ("@coder\nfix it", "coder"),
        ("@coder-2 fix it", "coder-2"),
        ("@code reviewer look", "Code Reviewer"),
        ("@ann go", "ann"),
        ("@Ann go", "Ann"),
        ("@ANN go", None),
        ("@coders fix it", None),
        ("@coder-3 fix it", None),
        ("@coder.py is broken", None),
        ("@coder@example.org wrote", None),
        ("@nobody go", None),
        (" @coder fix it", None),
        ("ask @coder", None),
        ("coder fix it", None),
        (as_mention("@coder fix it"), None),
        ("", None),
    ],
)
def test_a_text_is_addressed_to_the_agent_whose_name_it_begins_with(text, name):
    found = addressee_of(text, NAMES)
    assert (found.name if found else None) == name


@pytest.mark.parametrize(
    ("text", "empty"),
    [("@coder", True), ("@coder: \n", True), ("@coder?", False), ("@coder a", False)],
)
def test_a_name_alone_says_nothing(text, empty):
    found = addressee_of(text, NAMES)
    assert found is not None
    assert found.empty is empty
