"""AutoGen's modules and names without a counterpart, and their replacements.

Imported only when an import has failed (`lazy_exports.py`). `docs/migrate-from-autogen.md` says the
same, in AutoGen's names.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

PAGE = "docs/migrate-from-autogen.md"

_LLAMA_SERVER = (
    'OpenAIChatCompletionClient(model="local", base_url="http://localhost:8080/v1", '
    "model_info=...) with llama.cpp's own server (llama-server -m MODEL.gguf)"
)
_NO_RUNTIME = "BaseChatAgent for an agent, BaseGroupChat for how agents take turns"

MODULES: Mapping[str, str] = {
    "teams.code_executors.azure": "DockerJupyterCodeExecutor, which takes any Jupyter server",
    "teams.exceptions": "TeamError and ModelError; nothing is sent between actors",
    "teams.models.llama_cpp": _LLAMA_SERVER,
    "teams.runtimes": "one process with asyncio; Parley serves many conversations at once",
    "teams.tool_agent": "AssistantAgent, which calls its tools itself",
}
"""Where a changed import of AutoGen's would lead -> what to use instead."""

NAMES: Mapping[str, Mapping[str, Sequence[str]]] = {
    "teams.core": {
        _NO_RUNTIME: (
            *("Agent", "AgentId", "AgentMetadata", "AgentProxy", "AgentRuntime", "AgentType"),
            *("AgentInstantiationContext", "BaseAgent", "ClosureAgent", "ClosureContext"),
            *("DefaultSubscription", "DefaultTopicId", "MessageContext", "MessageHandlerContext"),
            *("RoutedAgent", "SingleThreadedAgentRuntime", "Subscription", "TopicId"),
            *("SubscriptionInstantiationContext", "TypePrefixSubscription", "TypeSubscription"),
            *("default_subscription", "event", "message_handler", "rpc", "type_subscription"),
        ),
        "message types of your own, which are pydantic models": (
            *("JSON_DATA_CONTENT_TYPE", "MessageSerializer", "PROTOBUF_DATA_CONTENT_TYPE"),
            *("UnknownPayload", "try_get_known_serializers_for_type"),
        ),
        "a ToolInterceptor for tool calls": (
            *("DefaultInterventionHandler", "DropMessage", "InterventionHandler"),
        ),
        "OpenTelemetry's own tracer; runs, agents and tools have spans already": (
            *("trace_create_agent_span", "trace_invoke_agent_span", "trace_tool_span"),
        ),
        "ComponentBase": ("ComponentSchemaType",),
    },
    "teams.logging": {
        "MessageEvent; nothing is sent between actors": (
            *("AgentConstructionExceptionEvent", "DeliveryStage", "MessageDroppedEvent"),
            *("MessageHandlerExceptionEvent", "MessageKind"),
        ),
    },
}
"""Our module -> what to use instead of which of AutoGen's names."""


def explain_module(name: str) -> None:
    """Raise ModuleNotFoundError for a module that only AutoGen has."""
    if name in MODULES:
        # Without `name=`: else `from teams.models import anthropic` would drop the text.
        raise ModuleNotFoundError(_refusal(f"No module named {name!r}", MODULES[name]))


def missing_name(module: str, name: str) -> AttributeError | ImportError:
    """The error for a missing name; ImportError for AutoGen's."""
    for instead, names in NAMES.get(module, {}).items():
        if name in names:
            problem = f"cannot import name {name!r} from {module!r}"
            return ImportError(_refusal(problem, instead), name=module)
    return AttributeError(
        f"module {module!r} has no attribute {name!r}", name=name, obj=sys.modules[module]
    )


def instead_of_provider(provider: str) -> str | None:
    """The replacement of a component class that only AutoGen has."""
    package, _, rest = provider.partition(".")
    if package not in ("autogen_core", "autogen_ext"):
        return None
    inside = (use for module, use in MODULES.items() if f"teams.{rest}.".startswith(f"{module}."))
    return next(inside, None)


def instead_of(dotted: str) -> str | None:
    """The replacement of a module or name that only AutoGen has."""
    module, _, name = dotted.rpartition(".")
    home = "teams.core" if module == "autogen_core" else f"teams.{module.partition('.')[2]}"
    inside = (use for use, names in NAMES.get(home, {}).items() if name in names)
    return next(inside, None) or instead_of_provider(dotted)


def _refusal(problem: str, instead: str) -> str:
    return f"{problem}. Use instead: {instead}. See {PAGE}."
