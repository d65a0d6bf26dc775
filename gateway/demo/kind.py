"""The models that the gateway adds, as tables of config.toml."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from typing_extensions import override

from teams.kinds import Kind, Load, ModelKind, Variable
from teams.models.kinds import OpenAIModelKind


class DemoModelKind(ModelKind):
    """The built-in demo model, which follows fixed rules and needs no key."""

    kind: ClassVar = Kind("model", "demo", "gateway.demo.model:DemoChatCompletionClient")
    is_local = True

    @override
    def make(self, load: Load, client_of: Load) -> Any:
        return load(self.kind.made_by)()


class AutoModelKind(OpenAIModelKind):
    """OpenAI where a key or an address is given, the demo otherwise.

    They stand in the table, or in OPENAI_API_KEY and OPENAI_BASE_URL. A name of the model in
    PARLEY_MODEL or OPENAI_MODEL comes first.
    """

    kind: ClassVar = Kind("model", "auto", "teams.models.openai:OpenAIChatCompletionClient")

    model: Annotated[str, Variable("PARLEY_MODEL"), Variable("OPENAI_MODEL")] = ""

    @override
    def resolved(self) -> ModelKind:
        if not (self.api_key or self.base_url or self.read("api_key") or self.read("base_url")):
            given = {**dict(self), "provider": "demo", "model": ""}
            return DemoModelKind.model_construct(None, **given)
        named = {"provider": "openai", "model": self.read("model") or self.model}
        return OpenAIModelKind.model_construct(None, **{**dict(self), **named})
