"""Thoughts within texts, in the marks of each family."""

from __future__ import annotations

import pytest

from teams.models._thought import ThoughtParser
from teams.models._thought_marks import marks_of

HARMONY = (
    "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Six."
)


def read(text: str, model: str, size: int, *, cut: bool = False) -> tuple[str, str]:
    """The shown text and the thought of a text in pieces."""
    parser = ThoughtParser(marks_of(model))
    pieces = [text[place : place + size] for place in range(0, len(text), size)]
    shown = "".join([parser.read(piece) for piece in pieces]) + parser.end(cut=cut)
    assert not parser.end()
    return shown, parser.thought


@pytest.mark.parametrize(
    ("model", "text", "shown", "thought"),
    [
        # At the very start, of any model.
        ("m", "<think>Hm.</think>\n\nSix.", "Six.", "Hm."),
        ("m", "\n<thinking>Hm.</thinking>Six.", "Six.", "Hm."),
        ("m", "<reasoning>Hm.</reasoning> Six.", "Six.", "Hm."),
        ("m", "<thought>\nHm.\n</thought>\nSix.", "Six.", "Hm."),
        ("m", "[THINK]Hm.[/THINK]Six.", "Six.", "Hm."),
        ("m", "◁think▷Hm.◁/think▷Six.", "Six.", "Hm."),
        ("m", "<seed:think>Hm.</seed:think>Six.", "Six.", "Hm."),
        ("m", "<|START_THINKING|>Hm.<|END_THINKING|>Six.", "Six.", "Hm."),
        ("m", HARMONY, "Six.", "Hm."),
        ("m", f"{HARMONY}<|return|>", "Six.", "Hm."),
        ("m", f"<|start|>assistant{HARMONY}", "Six.", "Hm."),
        ("m", "<|channel|>final<|message|>Six.", "Six.", ""),
        ("m", "<think></think><think>Hm.</think>Six.", "Six.", "Hm."),
        ("m", "<think>Hm.", "", "Hm."),
        # The closing mark alone.
        ("deepseek-r1:7b", "Hm.</think>\n\nSix.", "Six.", "Hm."),
        ("Qwen/QwQ-32B", "Hm. <b>\n</think>Six.", "Six.", "Hm. <b>"),
        ("Qwen3-235B-A22B-Thinking-2507", "Hm.</think>Six.", "Six.", "Hm."),
        ("MiniMaxAI/MiniMax-M2", "Hm.\n</think>Six.", "Six.", "Hm."),
        ("exaone-deep:7.8b", "Hm.</thought>Six.", "Six.", "Hm."),
        ("deepseek-r1", "Six.", "Six.", ""),
        ("deepseek-r1", "<think>Hm.</think>Six.", "Six.", "Hm."),
        # After a first sentence.
        ("qwen3:8b", "Well.\n<think>Hm.</think>\nSix.", "Well.\nSix.", "Hm."),
        ("qwen3:8b", "Well. <think>Hm.</think> Six.", "Well. Six.", "Hm."),
        ("gpt-oss", "<|channel|>final <|constrain|>json<|message|>{}", "{}", ""),
        ("gpt-oss", "<|channel|>commentary to=functions.a <|message|>{}<|call|>", "", None),
        ("magistral-small-2507", "Well.\n[THINK]Hm.[/THINK]\nSix.", "Well.\nSix.", "Hm."),
        ("kimi-vl-a3b-thinking", "Well.\n◁think▷Hm.◁/think▷Six.", "Well.\nSix.", "Hm."),
        ("glm-4.5", "<think>Hm.</think>A. <think>So.</think>B.", "A. B.", "Hm.\n\nSo."),
        ("gpt-oss:20b", f"Well{HARMONY}<|return|>", "WellSix.", "Hm."),
    ],
)
def test_marked_thoughts_do_not_leak(model: str, text: str, shown: str, thought: str | None):
    for size in (1, 2, 3, 7, len(text)):
        found = read(text, model, size)
        assert found == (shown, found[1] if thought is None else thought)


@pytest.mark.parametrize("model", ["m", "qwen3:8b", "magistral-small", "gpt-oss:20b"])
@pytest.mark.parametrize(
    "text",
    [
        "Close it with </think> at its end.",
        "The tag <think> opens it, </think> closes it.",
        "Write `<think>` first. Then `</think>`.",
        "Look:\n```xml\n<think>\nHm.\n</think>\n```\nDone.",
        "```\nA.\n<think>x</think>\n```",
        "In ``a ` b. <think>x</think>`` it stays.",
        "`<think>` begins it.",
        "Well.\n<think>It is never closed.",
        "<reasoning> is a tag of some models.",
        "<thought> of it? No.",
        "a < b. <thin air",
        "[THIN",
        "<",
        "  indented\n\n",
        "",
    ],
)
def test_literal_marks_stay(model: str, text: str):
    for size in (1, 2, 3, 7, len(text) or 1):
        assert read(text, model, size) == (text, "")


def test_a_thought_that_was_cut_is_no_text():
    assert read("<reasoning>Hm, six", "m", 3, cut=True) == ("", "Hm, six")
    assert read("Hm, six is", "deepseek-r1", 3, cut=True) == ("", "Hm, six is")
    assert read("Well.\n<think>Hm", "qwen3", 3, cut=True) == ("Well.\n<think>Hm", "")


def test_a_thought_that_came_beside_the_text_has_no_marks_in_it():
    parser = ThoughtParser(marks_of("deepseek-r1"), separated=True)
    assert parser.read("Six") == "Six"


@pytest.mark.parametrize(
    ("given", "text"), [(("<hm>", "</hm>"), "<hm>Hm.</hm>Six."), (("", "=>"), "Hm. => Six.")]
)
def test_marks_of_a_model_s_own(given: tuple[str, str], text: str):
    parser = ThoughtParser(marks_of("own", given=given))
    assert "".join([*map(parser.read, text), parser.end()]) == "Six."
    assert parser.thought == "Hm."


def test_a_thought_needs_a_closing_mark():
    with pytest.raises(ValueError, match="closes a thought, is empty"):
        marks_of("own", given=("<hm>", ""))
