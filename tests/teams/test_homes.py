"""Every documented name has its home, in place of AutoGen's modules."""

import pickle
import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest

from teams.agents import AssistantAgent

HOMES = {
    # autogen_agentchat
    "teams": """
        EVENT_LOGGER_NAME TRACE_LOGGER_NAME __version__
        BaseGroupChat RoundRobinGroupChat SelectorGroupChat Swarm MagenticOneGroupChat GraphFlow
        DiGraph DiGraphNode DiGraphEdge DiGraphBuilder
    """,
    "teams.agents": """
        BaseChatAgent AssistantAgent CodeExecutorAgent SocietyOfMindAgent UserProxyAgent
        MessageFilterAgent MessageFilterConfig PerSourceFilter
        ApprovalRequest ApprovalResponse ApprovalFuncType
    """,
    "teams.agents.azure": "AzureAIAgent",
    "teams.agents.openai": "OpenAIAgent OpenAIAssistantAgent",
    "teams.base": """
        ChatAgent Response Team TaskRunner TaskResult Handoff
        TerminationCondition AndTerminationCondition OrTerminationCondition TerminatedException
    """,
    "teams.conditions": """
        MaxMessageTermination TextMentionTermination StopMessageTermination TokenUsageTermination
        HandoffTermination TimeoutTermination ExternalTermination SourceMatchTermination
        TextMessageTermination FunctionCallTermination FunctionalTermination
    """,
    "teams.messages": """
        BaseMessage BaseChatMessage BaseTextChatMessage BaseAgentEvent ChatMessage AgentEvent
        TextMessage MultiModalMessage StopMessage HandoffMessage ToolCallSummaryMessage
        StructuredMessage StructuredMessageFactory StructuredContentType MessageFactory
        ToolCallRequestEvent ToolCallExecutionEvent MemoryQueryEvent UserInputRequestedEvent
        ModelClientStreamingChunkEvent ThoughtEvent SelectSpeakerEvent SelectorEvent
        CodeGenerationEvent CodeExecutionEvent
    """,
    "teams.state": """
        BaseState AssistantAgentState TeamState ChatAgentContainerState BaseGroupChatManagerState
        RoundRobinManagerState SelectorManagerState SwarmManagerState MagenticOneOrchestratorState
        SocietyOfMindAgentState
    """,
    "teams.ui": "Console RichConsole UserInputManager",
    "teams.utils": "content_to_str remove_images schema_to_pydantic_model extract_json_from_str",
    # AG2's two-agent classes
    "teams.conversable": """
        Agent LLMAgent ConversableAgent AssistantAgent UserProxyAgent ChatResult
        initiate_chats a_initiate_chats register_function gather_usage_summary
        SenderRequired SenderRequiredError InvalidCarryOverType InvalidCarryOverTypeError
        OpenAIWrapper ModelClient IOStream AbstractCache Cache
        filter_config config_list_from_json
    """,
    # autogen_core
    "teams.core": """
        CancellationToken FunctionCall Image
        Component ComponentBase ComponentModel ComponentLoader ComponentFromConfig
        ComponentToConfig ComponentType is_component_class is_component_instance
        CacheStore InMemoryStore EVENT_LOGGER_NAME TRACE_LOGGER_NAME ROOT_LOGGER_NAME
    """,
    "teams.models": """
        ChatCompletionClient CreateResult RequestUsage SystemMessage UserMessage AssistantMessage
        FunctionExecutionResult FunctionExecutionResultMessage LLMMessage FinishReasons ModelFamily
        ModelInfo ModelCapabilities validate_model_info TopLogprob ChatCompletionTokenLogprob
    """,
    "teams.model_context": """
        ChatCompletionContext ChatCompletionContextState UnboundedChatCompletionContext
        BufferedChatCompletionContext HeadAndTailChatCompletionContext
        TokenLimitedChatCompletionContext
    """,
    "teams.memory": """
        Memory MemoryContent MemoryMimeType MemoryQueryResult UpdateContextResult ListMemory
    """,
    "teams.tools": """
        AgentTool TeamTool
        Tool StreamTool BaseTool BaseStreamTool BaseToolWithState FunctionTool ToolSchema
        ParametersSchema Workbench StaticWorkbench StaticStreamWorkbench ToolResult
        TextResultContent ImageResultContent ToolOverride
    """,
    "teams.code_executor": """
        CodeBlock CodeExecutor CodeResult Alias Import ImportFromModule
        FunctionWithRequirements FunctionWithRequirementsStr with_requirements
    """,
    "teams.logging": "LLMCallEvent LLMStreamStartEvent LLMStreamEndEvent ToolCallEvent",
    # autogen_ext
    "teams.agents.file_surfer": "FileSurfer",
    "teams.agents.magentic_one": "MagenticOneCoderAgent",
    "teams.agents.video_surfer": "VideoSurfer",
    "teams.agents.video_surfer.tools": """
        extract_audio transcribe_audio_with_timestamps get_video_length save_screenshot
        transcribe_video_screenshot get_screenshot_at
    """,
    "teams.magentic_one": "MagenticOne",
    "teams.teams.magentic_one": "MagenticOne",
    "teams.models.replay": "ReplayChatCompletionClient",
    "teams.cache_store.redis": "RedisStore RedisStoreConfig",
    "teams.memory.canvas": "TextCanvas TextCanvasMemory",
    "teams.memory.chromadb": """
        ChromaDBVectorMemory ChromaDBVectorMemoryConfig
        PersistentChromaDBVectorMemoryConfig HttpChromaDBVectorMemoryConfig
        DefaultEmbeddingFunctionConfig SentenceTransformerEmbeddingFunctionConfig
        OpenAIEmbeddingFunctionConfig CustomEmbeddingFunctionConfig
    """,
    "teams.memory.mem0": "Mem0Memory Mem0MemoryConfig",
    "teams.memory.redis": "RedisMemory RedisMemoryConfig",
    "teams.agents.web_surfer": "MultimodalWebSurfer PlaywrightController",
    "teams.auth.azure": "AzureTokenProvider TokenProviderConfig",
    "teams.models.azure": "AzureAIChatCompletionClient AzureAIChatCompletionClientConfig",
    "teams.models.ollama": """
        OllamaChatCompletionClient BaseOllamaClientConfigurationConfigModel
        CreateArgumentsConfigModel
    """,
    "teams.models.openai": """
        OpenAIChatCompletionClient AzureOpenAIChatCompletionClient BaseOpenAIChatCompletionClient
        OpenAIClientConfiguration AzureOpenAIClientConfiguration
        OpenAIClientConfigurationConfigModel AzureOpenAIClientConfigurationConfigModel
        BaseOpenAIClientConfigurationConfigModel CreateArgumentsConfigModel AZURE_OPENAI_USER_AGENT
    """,
    "teams.models.openai.config": "OpenAIClientConfiguration AzureOpenAIClientConfiguration",
    "teams.models.anthropic": """
        AnthropicChatCompletionClient AnthropicBedrockChatCompletionClient
        BaseAnthropicChatCompletionClient BedrockInfo
        AnthropicClientConfiguration AnthropicBedrockClientConfiguration
        AnthropicClientConfigurationConfigModel AnthropicBedrockClientConfigurationConfigModel
        CreateArgumentsConfigModel
    """,
    "teams.models.cache": "ChatCompletionCache CHAT_CACHE_VALUE_TYPE",
    "teams.models.fallback": "FallbackChatCompletionClient Substitution SubstitutionWatch",
    "teams.experimental.task_centric_memory": (
        "MemoryController MemoryControllerConfig MemoryBankConfig"
    ),
    "teams.experimental.task_centric_memory.utils": """
        Apprentice ApprenticeConfig ChatCompletionClientRecorder Grader
        PageLogger PageLoggerConfig Teachability
    """,
    "teams.code_executors.local": "LocalCommandLineCodeExecutor",
    "teams.code_executors": "create_default_code_executor",
    "teams.code_executors.docker": "DockerCommandLineCodeExecutor",
    "teams.code_executors.docker_jupyter": """
        DockerJupyterCodeExecutor DockerJupyterServer JupyterClient JupyterKernelClient
        DockerJupyterCodeResult JupyterConnectionInfo
    """,
    "teams.code_executors.jupyter": "JupyterCodeExecutor JupyterCodeResult",
    "teams.models.semantic_kernel": "SKChatCompletionAdapter",
    "teams.tools.azure": """
        AzureAISearchTool BaseAzureAISearchTool AzureAISearchConfig
        SearchQuery SearchResult SearchResults VectorizableTextQuery
    """,
    "teams.tools.code_execution": (
        "PythonCodeExecutionTool CodeExecutionInput CodeExecutionResult"
    ),
    "teams.tools.graphrag": """
        GlobalSearchTool GlobalSearchToolArgs GlobalSearchToolReturn
        LocalSearchTool LocalSearchToolArgs LocalSearchToolReturn
        GlobalDataConfig LocalDataConfig GlobalContextConfig LocalContextConfig
        MapReduceConfig SearchConfig
    """,
    "teams.tools.http": "HttpTool HttpToolConfig",
    "teams.tools.langchain": "LangChainToolAdapter",
    "teams.memory.knowledge": """
        KnowledgeMemory KnowledgeMemoryConfig EmbeddingEndpoint IndexReport
    """,
    "teams.tools.mcp": """
        McpWorkbench McpSessionActor McpServerParams create_mcp_server_session mcp_server_tools
        StdioServerParams SseServerParams StreamableHttpServerParams
        StdioMcpToolAdapter SseMcpToolAdapter StreamableHttpMcpToolAdapter
        McpSessionHost Sampler ChatCompletionClientSampler ChatCompletionClientSamplerConfig
        Elicitor StreamElicitor StdioElicitor StdioElicitorConfig
        RootsProvider StaticRootsProvider
    """,
    "teams.tools.semantic_kernel": "KernelFunctionFromTool KernelFunctionFromToolSchema",
}


@pytest.mark.parametrize("module", HOMES)
def test_documented_names_are_found_at_their_home(module: str):
    home = import_module(module)
    assert [name for name in HOMES[module].split() if not hasattr(home, name)] == []


SDKS = (
    "anthropic av azure boto3 botocore chromadb cv2 docker faster_whisper genai_prices graphrag "
    "httpx httpx2 ipykernel jupyter_client langchain_core mcp mem0 openai playwright redis redisvl "
    "rich semantic_kernel tiktoken unidiff"
)


def test_no_home_loads_a_library_of_a_provider():
    code = (
        "import sys\n"
        "from importlib import import_module\n"
        f"for home in {[*HOMES]}:\n"
        "    import_module(home)\n"
        f"print(*set({SDKS.split()}) & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


LOADED_WHEN_TAKEN = (
    "teams",
    "teams.agents",
    "teams.core",
    "teams.memory",
    "teams.model_context",
    "teams.models",
    "teams.tools",
)


@pytest.mark.parametrize("name", LOADED_WHEN_TAKEN)
def test_names_that_are_loaded_when_taken_are_listed_and_all_there(name: str):
    module = import_module(name)
    taken: dict[str, Any] = {}
    exec(f"from {name} import *", taken)
    assert set(module.__all__) <= taken.keys()
    assert set(module.__all__) <= set(dir(module))
    assert all(getattr(module, each) is taken[each] for each in module.__all__)


@pytest.mark.parametrize("name", LOADED_WHEN_TAKEN)
def test_a_name_that_is_nowhere_is_missed_in_python_s_own_words(name: str):
    with pytest.raises(ImportError, match=f"^cannot import name 'AsistantAgent' from '{name}' "):
        exec(f"from {name} import AsistantAgent")
    with pytest.raises(
        AttributeError, match=f"^module '{name}' has no attribute 'AsistantAgent'$"
    ) as missed:
        _ = import_module(name).AsistantAgent
    assert missed.value.name == "AsistantAgent"


def test_a_class_that_was_loaded_when_taken_is_pickled_by_name():
    assert pickle.loads(pickle.dumps(AssistantAgent)) is AssistantAgent
