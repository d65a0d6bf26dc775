"""`[models.NAME]`: any kind of model, with those that the gateway adds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, TypeAlias, cast

from teams.kinds import KINDS, Declared, KindsOf, ModelKind

_DEMO = "gateway.demo.kind"

KINDS["model"] |= {
    "demo": Declared(f"{_DEMO}:DemoModelKind", "DemoChatCompletionClient"),
    "auto": Declared(f"{_DEMO}:AutoModelKind", "OpenAIChatCompletionClient"),
}
MODELS = KindsOf("model", otherwise="openai")

ModelConfig: TypeAlias = Annotated[ModelKind, MODELS]


def variables_read(provider: str) -> Iterator[str]:
    """Variables that the clients of a provider of ours read."""
    kind = MODELS.members[provider] if provider in KINDS["model"] else ModelKind
    return cast("type[ModelKind]", kind).variables()
