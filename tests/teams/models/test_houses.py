"""Houses that a model's name leads OpenAI's client to."""

import pytest

from teams.models._houses import key_variable, provider_of


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("gpt-4o", "OPENAI_API_KEY"),
        ("gemini-2.0-flash", "GEMINI_API_KEY"),
        ("claude-sonnet-4", "ANTHROPIC_API_KEY"),
        ("Llama-4-Scout", "LLAMA_API_KEY"),
    ],
)
def test_a_name_leads_to_a_house_and_its_key(model: str, variable: str):
    assert key_variable(model) == variable
    assert (provider_of(model) is None) == (variable == "OPENAI_API_KEY")
