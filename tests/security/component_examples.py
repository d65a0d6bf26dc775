"""Examples of all our component classes: harmless ones, and others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

Part: TypeAlias = dict[str, Any]

INFO = {
    **dict.fromkeys(("function_calling", "json_output", "structured_output", "vision"), True),
    "family": "unknown",
}


def part(provider: str, **config: Any) -> Part:
    return {"provider": provider, "config": config}


REPLAY = part(
    "teams.models.replay.ReplayChatCompletionClient", chat_completions=["x"], model_info=INFO
)


def agent(name: str, **more: Any) -> Part:
    given = {
        "description": "",
        "reflect_on_tool_use": False,
        "tool_call_summary_format": "{result}",
    }
    config = {"model_client": REPLAY, **given, **more}
    return part("teams.agents.AssistantAgent", name=name, **config)


def team(*participants: Part) -> Part:
    return part("teams.RoundRobinGroupChat", participants=[*participants], max_turns=1)


def openai(**config: Any) -> Part:
    return part("OpenAIChatCompletionClient", **{"model": "gpt-4o", "model_info": INFO, **config})


def claude(**config: Any) -> Part:
    provider = "autogen_ext.models.anthropic.AnthropicChatCompletionClient"
    return part(provider, **{"model": "claude-haiku-4-5", **config})


def bedrock(base_url: str | None = None, **account: str) -> Part:
    info = {"aws_region": "eu-west-1", **account}
    provider = "autogen_ext.models.anthropic.AnthropicBedrockChatCompletionClient"
    return part(provider, model="claude-haiku-4-5", bedrock_info=info, base_url=base_url)


def ollama(**config: Any) -> Part:
    return part("autogen_ext.models.ollama.OllamaChatCompletionClient", model="x", **config)


def azure(**config: Any) -> Part:
    given = {"azure_endpoint": "https://x.azure.com", "api_version": "1", "model": "gpt-4o"}
    return part("AzureOpenAIChatCompletionClient", **given, **config)


def chroma(**config: Any) -> Part:
    return part("autogen_ext.memory.chromadb.ChromaDBVectorMemory", **config)


def mcp(**params: Any) -> Part:
    kind = {"command": "Stdio"}.get(next(iter(params)), "Sse")
    server = {"type": f"{kind}ServerParams", **params}
    return part("autogen_ext.tools.mcp.McpWorkbench", server_params=server)


def http(**config: Any) -> Part:
    given = {
        "name": "get",
        "host": "api.example.com",
        "port": 443,
        "json_schema": {"type": "object"},
    }
    tool = part("autogen_ext.tools.http.HttpTool", **{**given, **config})
    return part("teams.tools.StaticWorkbench", tools=[tool])


def knowledge(**config: Any) -> Part:
    return part("teams.memory.knowledge.KnowledgeMemory", **config)


def search(**config: Any) -> Part:
    given = {"name": "find", "endpoint": "https://mine.search.windows.net", "index_name": "books"}
    tool = part("autogen_ext.tools.azure.AzureAISearchTool", **{**given, **config})
    return part("teams.tools.StaticWorkbench", tools=[tool])


def docker(**config: Any) -> Part:
    provider = "autogen_ext.code_executors.docker.DockerCommandLineCodeExecutor"
    return part(provider, **config)


def local(**config: Any) -> Part:
    return part("teams.code_executors.local.LocalCommandLineCodeExecutor", **config)


def notebook(**config: Any) -> Part:
    return part("autogen_ext.code_executors.jupyter.JupyterCodeExecutor", **config)


def surfer(**config: Any) -> Part:
    provider = "autogen_ext.agents.file_surfer.FileSurfer"
    return part(provider, name="files", model_client=REPLAY, **config)


MODELS = [
    (openai(), "{ env = 'OPENAI_API_KEY', for = 'https://api.openai.com' }"),
    (openai(api_key="***"), "{ env = 'OPENAI_API_KEY', for = 'https://api.openai.com' }"),
    (openai(api_key="sk-mine"), "{ base_url = 'https://api.openai.com' }"),
    (
        openai(base_url="https://API.example.com:443/v1"),
        "{ env = 'OPENAI_API_KEY', for = 'https://api.example.com' }",
    ),
    (
        openai(base_url="https://good.com@evil.com:8443/", api_key="sk-mine"),
        "{ base_url = 'https://evil.com:8443' }",
    ),
    (
        openai(base_url="https://good.com\\@evil.com/", api_key="sk-mine"),
        "{ base_url = 'https://evil.com' }",
    ),
    (
        openai(model="claude-sonnet-4-0", base_url="http://[::1]:1/v1"),
        "{ env = 'ANTHROPIC_API_KEY', for = 'http://[::1]:1' }",
    ),
    (claude(), "{ env = 'ANTHROPIC_API_KEY', for = 'https://api.anthropic.com' }"),
    (
        claude(base_url="https://evil.com"),
        "{ env = 'ANTHROPIC_API_KEY', for = 'https://evil.com' }",
    ),
    (claude(api_key="mine"), "{ base_url = 'https://api.anthropic.com' }"),
    (
        bedrock(),
        "{ env = 'AWS_ACCESS_KEY_ID', for = 'https://bedrock-runtime.eu-west-1.amazonaws.com' }",
    ),
    (
        bedrock(base_url="https://evil.com"),
        "{ env = 'AWS_ACCESS_KEY_ID', for = 'https://evil.com' }",
    ),
    (
        bedrock(aws_access_key="a", aws_secret_key="b", aws_session_token="c"),
        "{ base_url = 'https://bedrock-runtime.eu-west-1.amazonaws.com' }",
    ),
    (azure(), "{ env = 'AZURE_OPENAI_API_KEY', for = 'https://x.azure.com' }"),
    (azure(api_key="mine"), "{ base_url = 'https://x.azure.com' }"),
    (
        azure(
            azure_ad_token_provider=part(
                "autogen_ext.auth.azure.AzureTokenProvider",
                provider_kind="DefaultAzureCredential",
                scopes=["https://cognitiveservices.azure.com/.default"],
            )
        ),
        "{ env = 'AZURE_OPENAI_API_KEY', for = 'https://x.azure.com' }, "
        "{ env = 'AZURE_CLIENT_SECRET', for = 'https://x.azure.com' }",
    ),
    (ollama(), "{ base_url = 'http://127.0.0.1:11434' }"),
    (ollama(host="https://EVIL.com/x"), "{ base_url = 'https://evil.com' }"),
    (ollama(host="good.com@evil.com"), "{ base_url = 'http://evil.com:11434' }"),
    (
        part(
            "teams.models.cache.ChatCompletionCache",
            client=REPLAY,
            store=part("teams.cache_store.diskcache.DiskCacheStore", directory="/srv/cache"),
        ),
        "{ mount = '/srv/cache' }",
    ),
    (
        part(
            "teams.models.cache.ChatCompletionCache",
            client=REPLAY,
            store=part("autogen_ext.cache_store.redis.RedisStore", host="evil.com", ssl=True),
        ),
        "{ base_url = 'rediss://evil.com:6379' }",
    ),
]
MODELS_OF_CHROMA = "{ base_url = 'https://chroma-onnx-models.s3.amazonaws.com' }"
MEMORIES = [
    (chroma(persistence_path="/srv/db"), f"{{ mount = '/srv/db' }}, {MODELS_OF_CHROMA}"),
    (
        chroma(client_type="http", host="evil.com", port=1),
        f"{{ base_url = 'http://evil.com:1' }}, {MODELS_OF_CHROMA}",
    ),
    (
        chroma(persistence_path="/srv/db", embedding_function_config={"function_type": "openai"}),
        "{ mount = '/srv/db' }, { env = 'OPENAI_API_KEY', for = 'https://api.openai.com' }",
    ),
    (
        part("autogen_ext.memory.redis_memory.RedisMemory", redis_url="redis://a:b@evil.com"),
        "{ base_url = 'redis://evil.com:6379' }, { base_url = 'https://huggingface.co' }",
    ),
    (
        part("autogen_ext.memory.redis.RedisMemory", redis_url="rediss://[::1]:1", sequential=True),
        "{ base_url = 'rediss://[::1]:1' }",
    ),
    (
        part("autogen_ext.memory.mem0.Mem0Memory"),
        "{ env = 'MEM0_API_KEY', for = 'https://api.mem0.ai' }",
    ),
]
NOT_IN_A_FILE = [
    chroma(client_type="http", host="http://good.com/x"),
    part("teams.memory.redis.RedisMemory", redis_url="redis://good.com?ssl_keyfile=/etc/key"),
    part("teams.memory.redis.RedisMemory", redis_url="unix:///run/redis.sock"),
    part("teams.memory.mem0.Mem0Memory", is_cloud=False, config={"history_db_path": "/srv/x"}),
]
WORKBENCHES = [
    (
        mcp(command="npx", args=["-y", "x@1", "/data"]),
        "{ command = ['npx', '-y', 'x@1', '/data'] }",
    ),
    (mcp(command="x", cwd="/srv"), "{ command = ['x'], cwd = '/srv' }"),
    (
        mcp(command="x", env={"LD_PRELOAD": "/e"}),
        "{ command = ['x'], env = { LD_PRELOAD = '/e' } }",
    ),
    (mcp(url="http://localhost:80/sse"), "{ base_url = 'http://localhost' }"),
    (http(scheme="https", path="/x"), "{ base_url = 'https://api.example.com' }"),
    (http(), "{ base_url = 'http://api.example.com:443' }"),
    (
        http(host="API.example.com", headers={"A": "b"}),
        "{ base_url = 'http://api.example.com:443' }",
    ),
    (
        search(credential={"api_key": "***"}),
        "{ env = 'AZURE_SEARCH_API_KEY', for = 'https://mine.search.windows.net' }",
    ),
    (search(credential={"api_key": "mine"}), "{ base_url = 'https://mine.search.windows.net' }"),
    (
        search(
            credential={"provider_kind": "DefaultAzureCredential"},
            vector_fields=["v"],
            embedding_provider="openai",
            embedding_model="small",
        ),
        "{ env = 'AZURE_CLIENT_SECRET', for = 'https://mine.search.windows.net' }, "
        "{ env = 'OPENAI_API_KEY', for = 'https://api.openai.com' }",
    ),
]
KNOWLEDGE = [
    (
        knowledge(folder="/srv/docs", index="/srv/index/docs.sqlite"),
        "{ mount = '/srv/docs', read_only = true }, { mount = '/srv/index/docs.sqlite' }",
    ),
    (
        knowledge(addresses=["https://example.com/a", "https://example.com/b"]),
        "{ base_url = 'https://example.com' }",
    ),
    (
        knowledge(
            embeddings={"model": "m", "base_url": "http://localhost:1/v1", "api_key": "mine"}
        ),
        "{ base_url = 'http://localhost:1' }",
    ),
    (
        knowledge(embeddings={"model": "m", "api_key": "***"}),
        "{ env = 'OPENAI_API_KEY', for = 'https://api.openai.com' }",
    ),
]
EXECUTORS = [
    (
        docker(extra_volumes={"/": {"bind": "/host", "mode": "ro"}}),
        "{ mount = '/', read_only = true }",
    ),
    (docker(extra_volumes={"/srv/x": {"bind": "/x"}}), "{ mount = '/srv/x' }"),
    (docker(work_dir="/srv/x/.."), "{ mount = '/srv/x/..' }"),
    (docker(bind_dir="/srv/x"), "{ mount = '/srv/x' }"),
    (docker(network_mode="host"), "{ container = { network_mode = 'host' } }"),
    (docker(init_command="curl x"), "{ container = { init_command = 'curl x' } }"),
    (docker(image="x/y", user="0:0"), "{ container = { image = 'x/y', user = '0:0' } }"),
    (docker(read_only=False), "{ container = { read_only = false } }"),
    (docker(cpus=8.0), "{ container = { cpus = 8.0 } }"),
    (local(), "{ executor = 'local' }"),
    (notebook(), "{ executor = 'local' }"),
    (notebook(output_dir="/srv/x"), "{ executor = 'local' }, { mount = '/srv/x' }"),
    (local(work_dir="/srv/x"), "{ executor = 'local' }, { mount = '/srv/x' }"),
]


def with_executor(executor: Part) -> Part:
    tool = part("teams.tools.code_execution.PythonCodeExecutionTool", executor=executor)
    return agent("coder", workbench=[part("teams.tools.StaticWorkbench", tools=[tool])])


POWERS: list[tuple[Part, str]] = [
    *((agent("a", model_client=model), entry) for model, entry in MODELS),
    (
        part(
            "autogen_ext.agents.openai.OpenAIAgent",
            name="a",
            description="",
            model="gpt-4o",
            instructions="",
            tools=[
                "web_search_preview",
                {
                    "type": "mcp",
                    "server_label": "a",
                    "server_url": "https://x.com",
                    "headers": {"Key": "secret-1"},
                },
            ],
        ),
        "{ env = 'OPENAI_API_KEY', for = 'https://api.openai.com' }, "
        "{ hosted = { type = 'web_search_preview' } }, "
        "{ hosted = { type = 'mcp', server_label = 'a', server_url = 'https://x.com' } }",
    ),
    *((agent("a", workbench=[bench]), entry) for bench, entry in WORKBENCHES),
    *((agent("a", memory=[memory]), entry) for memory, entry in KNOWLEDGE),
    *((with_executor(executor), entry) for executor, entry in EXECUTORS),
    *(
        (part("teams.agents.CodeExecutorAgent", name="c", code_executor=executor), entry)
        for executor, entry in EXECUTORS
    ),
    (surfer(base_path="/srv/docs"), "{ mount = '/srv/docs', read_only = true }"),
    (surfer(base_path="/srv/x/.."), "{ mount = '/srv/x/..', read_only = true }"),
    (surfer(), f"{{ mount = '{Path.cwd()}', read_only = true }}"),
]


AGENT = agent("a")
USER = part("teams.agents.UserProxyAgent", name="u", description="", input_func=None)
TEAM = part("teams.RoundRobinGroupChat", participants=[USER], max_turns=1)
SWARM = part(
    "teams.Swarm", participants=[part(AGENT["provider"], **AGENT["config"], handoffs=["a"])]
)
END = part("teams.conditions.MaxMessageTermination", max_messages=1, include_agent_event=False)
CONTEXT = part("teams.model_context.UnboundedChatCompletionContext", initial_messages=[])
SAID = [{"type": "UserMessage", "content": "x", "source": "u"}]
SCHEMA = {
    "type": "object",
    "properties": {"x": {"$ref": "#/$defs/X"}},
    "$defs": {"X": {"type": "object", "properties": {"y": {"$ref": "#/$defs/X"}}}},
}
SHAPE = part(
    "teams.messages.StructuredMessageFactory",
    json_schema=SCHEMA,
    format_string="{x}",
    content_model_name="X",
)
FUNCTION = part(
    "teams.tools.FunctionTool",
    source_code="def add(): ...",
    name="add",
    description="",
    global_imports=["os", {"module": "os", "imports": ["path"]}],
    has_cancellation_support=False,
)
BENCH = part("teams.tools.StaticWorkbench", tools=[FUNCTION], tool_overrides={"add": {"name": "b"}})
DOCKER = docker(image="x", work_dir=".")
TALKER = part("teams.conversable.ConversableAgent", name="t", system_message="")
LISTENER = part("teams.conversable.ConversableAgent", name="l", system_message="")
GRAPH = {"nodes": {"a": {"name": "a", "edges": []}}, "default_start_node": "a"}
SAMPLER = part("teams.tools.mcp.ChatCompletionClientSampler", client_config=REPLAY)
ASKER = part("teams.tools.mcp.StdioElicitor", timeout=1.0)
OF_TEAM = {"model_client": REPLAY, "termination_condition": END, "max_turns": 1}

HARMLESS_PARTS: Sequence[Part] = (
    *(REPLAY, AGENT, USER, TEAM, SWARM, END, CONTEXT, SHAPE, FUNCTION, BENCH, SAMPLER, ASKER),
    part("teams.GraphFlow", participants=[AGENT], termination_condition=END, graph=GRAPH),
    part("teams.MagenticOneGroupChat", participants=[AGENT], final_answer_prompt="", **OF_TEAM),
    part(
        "teams.SelectorGroupChat",
        participants=[AGENT, USER],
        selector_prompt="{roles}",
        model_context=CONTEXT,
        **OF_TEAM,
    ),
    part("teams.agents.CodeExecutorAgent", name="c", code_executor=DOCKER, sources=["a"]),
    part(
        "teams.agents.MessageFilterAgent",
        name="f",
        wrapped_agent=AGENT,
        filter={"per_source": [{"source": "u", "position": "last", "count": 1}]},
    ),
    part("teams.agents.SocietyOfMindAgent", name="s", team=TEAM, model_client=REPLAY),
    part("teams.agents.magentic_one.MagenticOneCoderAgent", **AGENT["config"]),
    # Its tokens go where the client that holds it is asked about.
    part(
        "teams.auth.azure.AzureTokenProvider", provider_kind="DefaultAzureCredential", scopes=["x"]
    ),
    part("teams.base.AndTerminationCondition", conditions=[END, END]),
    part("teams.base.OrTerminationCondition", conditions=[END, END]),
    part("teams.conditions.ExternalTermination"),
    part("teams.conditions.FunctionCallTermination", function_name="x"),
    part("teams.conditions.HandoffTermination", target="x"),
    part("teams.conditions.SourceMatchTermination", sources=["x"]),
    part("teams.conditions.StopMessageTermination"),
    part("teams.conditions.TextMentionTermination", text="x", sources=["x"]),
    part("teams.conditions.TextMessageTermination", source="x"),
    part("teams.conditions.TimeoutTermination", timeout_seconds=1.0),
    part("teams.conditions.TokenUsageTermination", max_total_token=1),
    # Of agents that are refused.
    part("teams.conversable.ConversableChat", starter=TALKER, recipient=LISTENER, arguments={}),
    part("teams.conversable.ConversableQueue", agents=[TALKER], chats=[{"message": "x"}]),
    part("teams.core.InMemoryStore"),
    part("teams.memory.ListMemory", memory_contents=[{"content": "x", "mime_type": "text/plain"}]),
    part("teams.model_context.AutoChatCompletionContext", model_client=REPLAY),
    part("teams.model_context.BufferedChatCompletionContext", buffer_size=1, initial_messages=SAID),
    part("teams.model_context.HeadAndTailChatCompletionContext", head_size=1, tail_size=1),
    part("teams.model_context.TokenLimitedChatCompletionContext", model_client=REPLAY),
    part(
        "teams.models.cache.ChatCompletionCache",
        client=REPLAY,
        store=part("teams.core.InMemoryStore"),
    ),
    part("teams.models.fallback.FallbackChatCompletionClient", clients=[REPLAY, REPLAY]),
    part("teams.tools.AgentTool", agent=AGENT),
    part("teams.tools.StaticStreamWorkbench", **BENCH["config"]),
    part("teams.tools.TeamTool", name="t", description="", team=TEAM),
    part("teams.tools.code_execution.PythonCodeExecutionTool", executor=DOCKER),
    # Their parts are asked about on their own, and the gateway's people answer for the terminal.
    part("teams.tools.mcp.McpSessionHost", sampler=SAMPLER, elicitor=ASKER),
    part("teams.tools.mcp.RunElicitor"),
)
HARMLESS = {each["provider"].rpartition(".")[2] for each in HARMLESS_PARTS}
"""Classes of ours that start nothing, reach nothing, mount nothing and read no secret."""

SERVERS = {
    "StdioMcpToolAdapter": mcp(command="x")["config"],
    "SseMcpToolAdapter": mcp(url="http://localhost:9/sse")["config"],
    "StreamableHttpMcpToolAdapter": {
        "server_params": {"type": "StreamableHttpServerParams", "url": "http://localhost:9/mcp"}
    },
}
TOOL = {"name": "x", "description": "x", "inputSchema": SCHEMA}
OTHERS: Sequence[Part] = (
    *(inner for inner, _ in POWERS),
    *(memory for memory, _ in MEMORIES),
    *(part(f"teams.tools.mcp.{name}", **server, tool=TOOL) for name, server in SERVERS.items()),
    part("teams.tools.mcp.McpSessionActor", **mcp(command="x")["config"]),
    part("teams.tools.mcp.StaticRootsProvider", roots=[{"uri": "file:///srv/x", "name": "x"}]),
    part("teams.agents.web_surfer.MultimodalWebSurfer", name="w", model_client=REPLAY),
    TALKER,
)
"""Parts that want something, or hold such parts: of each class at least one."""
