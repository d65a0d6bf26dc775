"""Marks of reasoning in answers, by the families of models.

They are those of each model's chat template, as vLLM's reasoning parsers and the model cards name
them (docs.vllm.ai: features/reasoning_outputs, api/vllm/reasoning). A server that knows the model
takes them out itself; what runs without its parser sends them within the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Mark(NamedTuple):
    """The text that opens a thought, and the one that closes it.

    A `silent` one holds no thought.
    """

    opening: str
    closing: str
    silent: bool = False


THINK = Mark("<think>", "</think>")
_THOUGHT = Mark("<thought>", "</thought>")
_SEED = Mark("<seed:think>", "</seed:think>")
_MAGISTRAL = Mark("[THINK]", "[/THINK]")
_KIMI = Mark("◁think▷", "◁/think▷")
_COHERE = Mark("<|START_THINKING|>", "<|END_THINKING|>")
_FINAL = "<|channel|>final"
HARMONY: Sequence[Mark] = (
    Mark("<|start|>assistant<|channel|>analysis<|message|>", _FINAL),
    Mark("<|start|>assistant<|channel|>commentary", _FINAL),
    Mark("<|start|>assistant<|channel|>final", "<|message|>", silent=True),
    Mark("<|channel|>analysis<|message|>", _FINAL),
    Mark("<|channel|>commentary", _FINAL),
    Mark(_FINAL, "<|message|>", silent=True),
    Mark("<|end|>", _FINAL),
    Mark("<|return|>", _FINAL),
)
"""Channels of OpenAI's open models; all but the final one is thought."""
ANY: Sequence[Mark] = (
    THINK,
    Mark("<thinking>", "</thinking>"),
    Mark("<reasoning>", "</reasoning>"),
    _THOUGHT,
    _SEED,
    _MAGISTRAL,
    _KIMI,
    _COHERE,
    *HARMONY,
)
"""Marks with which an answer of any model may begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """A model's ways to mark its reasoning.

    `inside` may open a thought after a sentence, too. With `opened` its template opens the thought
    in the request, so that its answer has the closing mark alone.
    """

    inside: Sequence[Mark] = ()
    opened: Mark | None = None


_FAMILIES: Sequence[tuple[str, Marks]] = (
    # Templates that end with "<think>": huggingface.co/deepseek-ai/DeepSeek-R1 (and its distilled
    # ones), Qwen/QwQ-32B, Qwen/Qwen3-235B-A22B-Thinking-2507, MiniMaxAI/MiniMax-M2,
    # stepfun-ai/step3, nvidia/NVIDIA-Nemotron-3, and vLLM's parsers deepseek_r1, minimax_m2, step3.
    (
        r"deepseek.*r1|\br1\b|qwq|thinking-2507|minimax-?m2|step-?3|nemotron-?3",
        Marks(inside=[THINK], opened=THINK),
    ),
    # LGAI-EXAONE/EXAONE-Deep-32B ends it with "<thought>".
    (r"exaone-?deep", Marks(inside=[_THOUGHT], opened=_THOUGHT)),
    # Qwen/Qwen3-32B, zai-org/GLM-4.5, moonshotai/Kimi-K2-Thinking, microsoft/Phi-4-reasoning,
    # tencent/Hunyuan-A13B, HuggingFaceTB/SmolLM3, deepseek-ai/DeepSeek-V3.1, nvidia/Nemotron,
    # baidu/ERNIE-4.5-Thinking, NousResearch/Hermes-4: they write both marks.
    (
        r"qwen-?3|glm-?4\.[5-9]|glm-?[5-9]|kimi-?k2|phi-?4.*reasoning|hunyuan|smollm-?3"
        r"|deepseek.*(v3\.[1-9]|v[4-9]|reasoner)|nemotron|ernie-?4\.5|hermes-?[34]",
        Marks(inside=[THINK]),
    ),
    # mistralai/Magistral-Small: "[THINK]" since 2507, "<think>" before.
    (r"magistral", Marks(inside=[_MAGISTRAL, THINK])),
    # moonshotai/Kimi-VL-A3B-Thinking.
    (r"kimi-?vl", Marks(inside=[_KIMI])),
    # ByteDance-Seed/Seed-OSS-36B-Instruct, and vLLM's parser seed_oss.
    (r"seed-?oss", Marks(inside=[_SEED])),
    # CohereLabs/command-a-reasoning.
    (r"command-a.*reasoning", Marks(inside=[_COHERE])),
    # github.com/openai/harmony: docs/format.md.
    (r"gpt-?oss", Marks(inside=HARMONY)),
)


def marks_of(model: str, family: str = "", given: tuple[str, str] | None = None) -> Marks:
    """The given marks, or those known by the model's name.

    A given opening mark may be empty: the model's template has it. ValueError if the other is.
    """
    if given:
        mark = Mark(*given)
        if not mark.closing:
            raise ValueError("The second of reasoning_marks, which closes a thought, is empty.")
        return Marks(inside=[mark]) if mark.opening else Marks(opened=mark)
    name = f"{model} {family}".lower()
    return next((marks for pattern, marks in _FAMILIES if re.search(pattern, name)), Marks())
