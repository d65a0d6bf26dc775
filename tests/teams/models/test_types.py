"""Families of models, what a model must tell of itself, and answers."""

import pytest
from pydantic import ValidationError

from teams.core import FunctionCall
from teams.models import CreateResult, ModelFamily, ModelInfo, RequestUsage, validate_model_info

CALL = FunctionCall(id="1", name="add", arguments='{"a": 1}')


def test_a_result_has_text_or_calls():
    usage = RequestUsage(prompt_tokens=3, completion_tokens=1)
    result = CreateResult(finish_reason="function_calls", content=[CALL], usage=usage, cached=False)
    assert CreateResult.model_validate_json(result.model_dump_json()) == result
    with pytest.raises(ValidationError, match="finish_reason"):
        CreateResult.model_validate({**result.model_dump(), "finish_reason": "tired"})


@pytest.mark.parametrize(
    ("family", "maker"),
    [
        (ModelFamily.GPT_4O, ModelFamily.is_openai),
        (ModelFamily.O3, ModelFamily.is_openai),
        (ModelFamily.CLAUDE_4_SONNET, ModelFamily.is_claude),
        (ModelFamily.GEMINI_2_5_PRO, ModelFamily.is_gemini),
        (ModelFamily.LLAMA_4_SCOUT, ModelFamily.is_llama),
        (ModelFamily.PIXTRAL, ModelFamily.is_mistral),
    ],
)
def test_families_know_their_maker(family: str, maker):
    makers = (
        ModelFamily.is_openai,
        ModelFamily.is_claude,
        ModelFamily.is_gemini,
        ModelFamily.is_llama,
        ModelFamily.is_mistral,
    )
    assert [asked for asked in makers if asked(family)] == [maker]
    assert not any(asked(ModelFamily.UNKNOWN) for asked in makers)


def test_families_are_names_not_objects():
    with pytest.raises(TypeError, match="no instances"):
        ModelFamily()


INFO = ModelInfo(
    vision=False,
    function_calling=True,
    json_output=False,
    family="unknown",
    structured_output=False,
)


def without(field: str) -> ModelInfo:
    info = INFO.copy()
    info.pop(field)
    return info


@pytest.mark.parametrize("field", ["vision", "function_calling", "json_output", "family"])
def test_a_missing_ability_is_named(field: str):
    validate_model_info(INFO)
    with pytest.raises(ValueError, match=field):
        validate_model_info(without(field))


def test_missing_structured_output_only_warns():
    with pytest.warns(UserWarning, match="structured_output"):
        validate_model_info(without("structured_output"))


def test_an_answer_notes_what_was_refused_or_too_much():
    usage = RequestUsage(prompt_tokens=3, completion_tokens=1)
    result = CreateResult(finish_reason="stop", content="", usage=usage, cached=False)
    assert (result.left_out, result.refused) == (0, False)
    before = result.model_dump()
    result.leave_out(3)
    result.mark_refused()
    assert (result.left_out, result.refused) == (3, True)
    assert result.model_dump() == before
