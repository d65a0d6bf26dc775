"""Facts in the providers' words about refused requests."""

from __future__ import annotations

import pytest

from teams.models._errors import ContentRefused, ContextOverflow


@pytest.mark.parametrize(
    ("said", "limit"),
    [
        ("This model's maximum context length is 128000 tokens.", 128_000),
        ("prompt is too long: 212,345 tokens > 200,000 maximum", 200_000),
        ("Prompt contains 40000 tokens, above 32768 maximum", 32_768),
        ("It is too long (model 'limit 4096' at https://here). Send less.", None),
        ("It is too long.", None),
    ],
)
def test_a_refusal_may_name_the_limit(said: str, limit: int | None):
    assert ContextOverflow(said).limit == limit


@pytest.mark.parametrize(
    ("said", "about"),
    [
        ("Invalid image_url: it is no picture", True),
        ("unsupported document", True),
        ("messages[3] is malformed", False),
    ],
)
def test_a_refusal_may_speak_of_a_file(said: str, about: bool):
    assert ContentRefused(said).about_files is about
