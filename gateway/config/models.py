"""`[models.NAME]`: any kind of model, with those that the gateway adds."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from teams.kinds import KINDS, Declared, KindsOf, ModelKind

_DEMO = "gateway.demo.kind"

KINDS["model"] |= {
    "demo": Declared(f"{_DEMO}:DemoModelKind", "DemoChatCompletionClient"),
    "auto": Declared(
        f"{_DEMO}:AutoModelKind",
        "OpenAIChatCompletionClient",
        variables=("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "PARLEY_MODEL"),
    ),
}
MODELS = KindsOf("model", otherwise="openai")

ModelConfig: TypeAlias = Annotated[ModelKind, MODELS]
