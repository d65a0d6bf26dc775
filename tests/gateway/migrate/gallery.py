"""A gallery as of AutoGen Studio, with something of every kind."""

from __future__ import annotations

from typing import Any

SECRETS = ["sk-secret", "sk-other", "token-secret", "bearer-secret", "header-secret"]


def form(provider: str, /, **config: Any) -> dict[str, Any]:
    """A component."""
    return {"provider": provider, "component_type": "x", "version": 1, "config": config}


def agent(name: str, **config: Any) -> dict[str, Any]:
    """An assistant."""
    given = {"name": name, "model_client": GPT, "description": "Helps.", "system_message": None}
    usual = {"reflect_on_tool_use": False, "tool_call_summary_format": "{result}"}
    return form("autogen_agentchat.agents.AssistantAgent", **(given | usual | config))


GPT = form(
    "autogen_ext.models.openai.OpenAIChatCompletionClient",
    model="gpt-4o",
    api_key="sk-secret",
    temperature=0.5,
    default_headers={"X-Key": "header-secret"},
)
LOCAL = form(
    "autogen_ext.models.openai.OpenAIChatCompletionClient",
    model="local",
    api_key="sk-other",
    base_url="http://localhost:11434/v1",
    model_info={
        "vision": False,
        "function_calling": True,
        "json_output": False,
        "family": "unknown",
        "structured_output": False,
    },
)
FUNCTION = form(
    "autogen_core.tools.FunctionTool",
    name="add",
    description="Add.",
    source_code="def add(a: int) -> int:\n    return a\n",
    global_imports=[],
    has_cancellation_support=False,
)
EXECUTOR = form("autogen_ext.code_executors.local.LocalCommandLineCodeExecutor", timeout=9)
DOCKER = form(
    "autogen_ext.code_executors.docker.DockerCommandLineCodeExecutor",
    image="python:3.12-slim",
    container_name="mine",
)
STDIO = {"type": "StdioServerParams", "command": "server", "env": {"TOKEN": "token-secret"}}
HTTP = {
    "type": "StreamableHttpServerParams",
    "url": "http://localhost/mcp",
    "headers": {"Authorization": "bearer-secret"},
}
BENCHES = [
    form("autogen_ext.tools.mcp.McpWorkbench", server_params=STDIO),
    form("autogen_ext.tools.mcp.McpWorkbench", server_params=HTTP),
    form(
        "autogen_core.tools.StaticWorkbench",
        tools=[
            FUNCTION,
            form("autogen_ext.tools.code_execution.PythonCodeExecutionTool", executor=EXECUTOR),
            form("autogen_ext.tools.http.HttpTool", name="get"),
        ],
    ),
]
HELPER = agent(
    "helper",
    system_message="Say ${this}\nand \"that\" \\ '''.",
    workbench=BENCHES,
    handoffs=[{"target": "coder", "name": "to_coder", "description": "Go.", "message": "Yours."}],
    memory=[
        form(
            "autogen_core.memory.ListMemory",
            name="facts",
            memory_contents=[{"content": "Tea.", "mime_type": "text/plain", "metadata": None}],
        )
    ],
    model_context=form("autogen_core.model_context.BufferedChatCompletionContext", buffer_size=3),
)
CODER = form("autogen_agentchat.agents.CodeExecutorAgent", name="coder", code_executor=DOCKER)
INNER = form(
    "autogen_agentchat.teams.RoundRobinGroupChat",
    name="inner",
    participants=[agent("thinker", model_client=LOCAL)],
    max_turns=1,
)
MIND = form(
    "autogen_agentchat.agents.SocietyOfMindAgent", name="mind", team=INNER, model_client=LOCAL
)
FILTER = form(
    "autogen_agentchat.agents.MessageFilterAgent",
    name="filter",
    wrapped_agent=agent("inside"),
    filter={"per_source": [{"source": "user", "position": "last", "count": 1}]},
)
OTHER = form("autogen_ext.models.llama_cpp.LlamaCppChatCompletionClient", model="x")
TEAM = form(
    "autogen_agentchat.teams.RoundRobinGroupChat",
    name="My team",
    participants=[HELPER, CODER, MIND, FILTER, form("mine.Agent", name="own")],
    termination_condition=form(
        "autogen_agentchat.conditions.MaxMessageTermination", max_messages=5
    ),
)
GALLERY: dict[str, Any] = {
    "id": "gallery",
    "name": "A gallery",
    "metadata": {"author": "us", "version": "1.0.0"},
    "components": {
        "agents": [agent("alone")],
        "teams": [TEAM],
        "models": [GPT, OTHER],
        "terminations": [],
    },
}
