"""The names of kinds, by family."""

from typing import Literal, NamedTuple, TypeAlias

Family: TypeAlias = Literal["agent", "team", "tool", "executor", "context", "memory", "model"]
Power: TypeAlias = tuple[Literal["command", "code", "address"], str]


class Declared(NamedTuple):
    """A kind's declaration, and the class that it makes."""

    path: str
    """Import path of its table."""

    makes: str
    """Name of the class."""

    by_key: bool = False
    """True if a key of this name tells it, and no `type`."""

    power: Power | None = None
    """Program or code that it starts, or server that it reaches, for the operator's word."""

    provider: str = ""
    """The provider that runs an agent's hosted tools."""

    variables: tuple[str, ...] = ()
    """Variables that it reads, likewise: before the operator's word no table is imported."""


_TOOLS = "teams.tools.kinds"
_EXECUTORS = "teams.code_executors.kinds"

_CONTEXTS = "teams.model_context.kinds"
_MEMORIES = "teams.memory.kinds"

_MODELS = "teams.models.kinds"

_HERE: Power = ("code", "on this machine")
_BOX: Power = ("code", "in a container")
_AGENTS = "teams.agents.kinds"

KINDS: dict[Family, dict[str, Declared]] = {
    "agent": {
        "openai": Declared("teams.agents.openai.kind:OpenAIKind", "OpenAIAgent", provider="OpenAI"),
        "azure_ai": Declared(
            "teams.agents.azure.kind:AzureAIKind",
            "AzureAIAgent",
            provider="Azure AI",
            variables=("AZURE_CLIENT_SECRET",),
        ),
        "user_proxy": Declared(f"{_AGENTS}:UserProxyKind", "UserProxyAgent"),
        "code_executor": Declared(f"{_AGENTS}:CodeExecutorKind", "CodeExecutorAgent"),
        "society_of_mind": Declared(f"{_AGENTS}:SocietyOfMindKind", "SocietyOfMindAgent"),
        "file_surfer": Declared("teams.agents.file_surfer.kind:FileSurferKind", "FileSurfer"),
        "coder": Declared(f"{_AGENTS}:CoderKind", "MagenticOneCoderAgent"),
        "web_surfer": Declared(
            "teams.agents.web_surfer.kind:WebSurferKind",
            "MultimodalWebSurfer",
            power=("command", "a browser, on any public address"),
        ),
        "video_surfer": Declared(
            "teams.agents.video_surfer.kind:VideoSurferKind",
            "VideoSurfer",
            power=("address", "huggingface.co, for a model that hears"),
        ),
        "message_filter": Declared(f"{_AGENTS}:MessageFilterKind", "MessageFilterAgent"),
    },
    "tool": {
        "path": Declared(f"{_TOOLS}:FunctionToolKind", "FunctionTool", by_key=True),
        "agent": Declared(f"{_TOOLS}:AgentToolKind", "AgentTool", by_key=True),
        "team": Declared(f"{_TOOLS}:TeamToolKind", "TeamTool", by_key=True),
        "executor": Declared(f"{_TOOLS}:CodeToolKind", "PythonCodeExecutionTool", by_key=True),
        "http": Declared("teams.tools.http.kind:HttpToolKind", "HttpTool", by_key=True),
        "azure_search": Declared(
            "teams.tools.azure.kind:AzureSearchKind", "AzureAISearchTool", by_key=True
        ),
        "graphrag": Declared(
            "teams.tools.graphrag.kind:GraphRagKind", "GlobalSearchTool", by_key=True
        ),
        "langchain": Declared(
            "teams.tools.langchain.kind:LangChainToolKind", "LangChainToolAdapter", by_key=True
        ),
    },
    "executor": {
        "docker": Declared(f"{_EXECUTORS}:DockerKind", "DockerCommandLineCodeExecutor", power=_BOX),
        "local": Declared(f"{_EXECUTORS}:LocalKind", "LocalCommandLineCodeExecutor", power=_HERE),
        "jupyter": Declared(f"{_EXECUTORS}:JupyterKind", "JupyterCodeExecutor", power=_HERE),
        "docker_jupyter": Declared(
            f"{_EXECUTORS}:DockerJupyterKind", "DockerJupyterCodeExecutor", power=_BOX
        ),
        "path": Declared(f"{_EXECUTORS}:OwnExecutorKind", "CodeExecutor", by_key=True),
    },
    "context": {
        "auto": Declared(f"{_CONTEXTS}:AutoKind", "AutoChatCompletionContext"),
        "unbounded": Declared(f"{_CONTEXTS}:UnboundedKind", "UnboundedChatCompletionContext"),
        "buffered": Declared(f"{_CONTEXTS}:BufferedKind", "BufferedChatCompletionContext"),
        "head_and_tail": Declared(
            f"{_CONTEXTS}:HeadAndTailKind", "HeadAndTailChatCompletionContext"
        ),
        "token_limited": Declared(
            f"{_CONTEXTS}:TokenLimitedKind", "TokenLimitedChatCompletionContext"
        ),
        "path": Declared(f"{_CONTEXTS}:OwnContextKind", "ChatCompletionContext", by_key=True),
    },
    "memory": {
        "path": Declared(f"{_MEMORIES}:OwnMemoryKind", "Memory", by_key=True),
        "contents": Declared(f"{_MEMORIES}:ListMemoryKind", "ListMemory", by_key=True),
        "chromadb": Declared("teams.memory.chromadb.kind:ChromaKind", "ChromaDBVectorMemory"),
        "redis": Declared("teams.memory.redis.kind:RedisKind", "RedisMemory"),
        "mem0": Declared("teams.memory.mem0.kind:Mem0Kind", "Mem0Memory"),
        "task_centric": Declared(
            "teams.experimental.task_centric_memory.kind:TaskCentricKind", "Teachability"
        ),
    },
    "model": {
        "openai": Declared(
            f"{_MODELS}:OpenAIModelKind",
            "OpenAIChatCompletionClient",
            variables=("OPENAI_API_KEY", "OPENAI_BASE_URL"),
        ),
        "azure": Declared(
            f"{_MODELS}:AzureModelKind",
            "AzureOpenAIChatCompletionClient",
            variables=("AZURE_OPENAI_API_KEY",),
        ),
        "azure_ai": Declared(f"{_MODELS}:AzureAIModelKind", "AzureAIChatCompletionClient"),
        "anthropic": Declared(
            f"{_MODELS}:ClaudeModelKind",
            "AnthropicChatCompletionClient",
            variables=("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
        ),
        "bedrock": Declared(
            f"{_MODELS}:BedrockModelKind",
            "AnthropicBedrockChatCompletionClient",
            variables=("AWS_ACCESS_KEY_ID",),
        ),
        "ollama": Declared(
            f"{_MODELS}:OllamaModelKind",
            "OllamaChatCompletionClient",
            variables=("OLLAMA_API_KEY", "OLLAMA_HOST"),
        ),
    },
}
"""A test compares them with the declarations. The gateway adds its own."""
