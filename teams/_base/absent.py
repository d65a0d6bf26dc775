"""AutoGen's modules and names without a counterpart, and their replacements.

Imported only when an import has failed (`lazy_exports.py`). `docs/migrate-from-autogen.md` says the
same, in AutoGen's names.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

PAGE = "docs/migrate-from-autogen.md"

_LLAMA_SERVER = (
    'OpenAIChatCompletionClient(model="local", base_url="http://localhost:8080/v1", '
    "model_info=...) with llama.cpp's own server (llama-server -m MODEL.gguf)"
)
_LOGGING = "teams.logging and OpenTelemetry"
_NO_RUNTIME = "BaseChatAgent for an agent, BaseGroupChat for how agents take turns"

_OF_AG2: Mapping[str, str] = {
    "teams.conversable.LLMConfig, with api_type for the provider": "llm_config",
    "a function of your own; AG2 has it for itself": (
        "doc_utils extensions formatting_utils import_utils json_utils math_utils"
    ),
    "a memory of teams.memory in a team": "retrieve_utils",
    "a_initiate_chat_stream, which yields what happens": "events messages",
    "an agent of teams.agents": "agents",
    "teams.code_executors": "code_utils coding",
    "count_tokens of a client of teams.models": "token_count_utils",
    "dicts for messages and configs": "types",
    "register_function, which reads a function's signature": "fast_depends function_utils tools",
    "teams.__version__": "version",
    "teams.agents.web_surfer in a team": "browser_utils",
    "teams.conversable itself": "exception_utils",
    "teams.conversable itself; for contrib an agent, a memory or a hook of your own": "agentchat",
    "teams.conversable.Cache.disk": "cache",
    "teams.conversable.IOStream": "io",
    "teams.conversable; `api_type` names the provider": "oai",
    _LOGGING: "logger runtime_logging",
    "teams.tools.langchain, or a function": "interop",
    "teams.tools.mcp": "mcp",
    "the team GraphFlow": "graph_utils",
}
"""Modules of AG2, where its programs find the rest, by what to use instead."""

MODULES: Mapping[str, str] = {
    "teams.code_executors.azure": "DockerJupyterCodeExecutor, which takes any Jupyter server",
    "teams.exceptions": "TeamError and ModelError; nothing is sent between actors",
    "teams.models.llama_cpp": _LLAMA_SERVER,
    "teams.runtimes": "one process with asyncio; Parley serves many conversations at once",
    "teams.tool_agent": "AssistantAgent, which calls its tools itself",
    **{
        f"teams.conversable.{name}": instead
        for instead, names in _OF_AG2.items()
        for name in names.split()
    },
}
"""Where a changed import of AutoGen's would lead -> what to use instead."""

NAMES: Mapping[str, Mapping[str, str]] = {
    "teams.core": {
        _NO_RUNTIME: (
            "Agent AgentId AgentMetadata AgentProxy AgentRuntime AgentType "
            "AgentInstantiationContext BaseAgent ClosureAgent ClosureContext DefaultSubscription "
            "DefaultTopicId MessageContext MessageHandlerContext RoutedAgent "
            "SingleThreadedAgentRuntime Subscription TopicId SubscriptionInstantiationContext "
            "TypePrefixSubscription TypeSubscription default_subscription event message_handler "
            "rpc type_subscription"
        ),
        "message types of your own, which are pydantic models": (
            "JSON_DATA_CONTENT_TYPE MessageSerializer PROTOBUF_DATA_CONTENT_TYPE UnknownPayload "
            "try_get_known_serializers_for_type"
        ),
        "a ToolInterceptor for tool calls": (
            "DefaultInterventionHandler DropMessage InterventionHandler"
        ),
        "OpenTelemetry's own tracer; runs, agents and tools have spans already": (
            "trace_create_agent_span trace_invoke_agent_span trace_tool_span"
        ),
        "ComponentBase": "ComponentSchemaType",
    },
    "teams.logging": {
        "MessageEvent; nothing is sent between actors": (
            "AgentConstructionExceptionEvent DeliveryStage MessageDroppedEvent "
            "MessageHandlerExceptionEvent MessageKind"
        ),
    },
    "teams.conversable": {
        "initiate_chat with a GroupChatManager": (
            "a_initiate_group_chat a_run_group_chat initiate_group_chat run_group_chat"
        ),
        "the team Swarm, and Handoff for its agents": (
            "AFTER_WORK AfterWork AfterWorkOption ContextExpression ON_CONDITION OnCondition "
            "OnContextCondition SwarmAgent SwarmResult a_initiate_swarm_chat a_run_swarm "
            "initiate_swarm_chat register_hand_off run_swarm"
        ),
        'register_hook("update_agent_state", f), where f calls update_system_message': (
            "UPDATE_SYSTEM_MESSAGE UpdateSystemMessage"
        ),
        "LLMConfig or a dict, with api_type for the provider": (
            "AnthropicLLMConfigEntry AzureOpenAILLMConfigEntry BedrockLLMConfigEntry "
            "CerebrasLLMConfigEntry CohereLLMConfigEntry DeepSeekLLMConfigEntry "
            "GeminiLLMConfigEntry GroqLLMConfigEntry MistralLLMConfigEntry "
            "OllamaLLMConfigEntry OpenAILLMConfigEntry TogetherLLMConfigEntry"
        ),
        "a list of dicts, or config_list_from_json": (
            "DEFAULT_MODEL FAST_MODEL config_list_from_dotenv config_list_from_models "
            "config_list_gpt4_gpt35 config_list_openai_aoai get_config_list"
        ),
        "OpenAIWrapper, or a ModelClient of your own": "ChatCompletion Completion",
        "Cache.disk": "CacheFactory CosmosDBCache DiskCache InMemoryCache RedisCache",
        "an executor of teams.code_executors; it needs no extractor": (
            "CodeExecutorFactory CodeExtractor MarkdownCodeExtractor PodmanCommandLineCodeExecutor "
            "create_virtual_env"
        ),
        "teams.code_executors.docker_jupyter.DockerJupyterCodeExecutor": "JupyterCodeExecutor",
        "teams.code_executors.jupyter.JupyterCodeExecutor": (
            "EmbeddedIPythonCodeExecutor LocalJupyterServer"
        ),
        "an IOStream of your own": (
            "AsyncThreadIOStream IOWebsockets InputStream OutputStream ThreadIOStream"
        ),
        "a function with register_function": (
            "BaseContext ChatContext Depends Interoperability Interoperable Tool Toolkit "
            "get_function_schema tool"
        ),
        'register_hook("process_all_messages_before_reply", f)': (
            "CompressibleAgent MessageHistoryLimiter MessageTokenLimiter TextMessageCompressor "
            "TransformMessages"
        ),
        "teams.agents.openai.OpenAIAssistantAgent in a team": "GPTAssistantAgent",
        "teams.agents.web_surfer.MultimodalWebSurfer in a team": "WebSurferAgent",
        "teams.agents.SocietyOfMindAgent in a team": "SocietyOfMindAgent",
        "the team MagenticOneGroupChat": "AgentBuilder CaptainAgent",
        "a model that reasons": "LATSAgent ReasoningAgent ThinkNode",
        "a message whose content is a list with images": (
            "LLaVAAgent MultimodalConversableAgent VisionCapability"
        ),
        "a memory of teams.memory in a team": (
            "DocAgent DocumentAgent QdrantRetrieveUserProxyAgent RetrieveAssistantAgent "
            "RetrieveUserProxyAgent Teachability TeachableAgent"
        ),
        "`parley serve`, which puts agents into chats": "DiscordAgent SlackAgent TelegramAgent",
        _LOGGING: "runtime_logging",
    },
}
"""Our module -> what to use instead of which of AutoGen's or AG2's names."""


def explain_import(name: str) -> None:
    """Raise ModuleNotFoundError for a module or name that only AutoGen has."""
    # Without `name=`: else `from teams.models import anthropic` would drop the text.
    if name in MODULES:
        raise ModuleNotFoundError(_refusal(f"No module named {name!r}", MODULES[name]))
    module, _, last = name.rpartition(".")
    if instead := _instead_of_name(module, last):
        problem = f"cannot import name {last!r} from {module!r}"
        raise ModuleNotFoundError(_refusal(problem, instead))


def missing_name(module: str, name: str) -> AttributeError:
    """The error for a missing name, with a hint for AutoGen's."""
    problem, instead = (
        f"module {module!r} has no attribute {name!r}",
        _instead_of_name(module, name),
    )
    told = _refusal(problem, instead) if instead else problem
    return AttributeError(told, name=name, obj=sys.modules[module])


def _instead_of_name(module: str, name: str) -> str | None:
    inside = NAMES.get(module, {}).items()
    return next((instead for instead, names in inside if name in names.split()), None)


def instead_of_provider(provider: str) -> str | None:
    """The replacement of a component class that only AutoGen has."""
    package, _, rest = provider.partition(".")
    home = {"autogen_core": "teams", "autogen_ext": "teams", "autogen": "teams.conversable"}
    wanted = f"{home.get(package)}.{rest}."
    return next((use for module, use in MODULES.items() if wanted.startswith(f"{module}.")), None)


def instead_of(dotted: str) -> str | None:
    """The replacement of a module or name that only others have."""
    module, _, name = dotted.rpartition(".")
    package, _, rest = module.partition(".")
    home = {"autogen": "teams.conversable"}.get(package, f"teams.{rest or 'core'}")
    return _instead_of_name(home, name) or instead_of_provider(dotted)


def _refusal(problem: str, instead: str) -> str:
    return f"{problem}. Use instead: {instead}. See {PAGE}."
