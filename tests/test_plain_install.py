"""A plain install: what runs, and what asks for an extra."""

from __future__ import annotations

import re

import pytest

from docs.installed import OURS, PAGE, PURPOSES, project
from tests.fakes.plain_install import tried

MODEL = "from teams.models.replay import ReplayChatCompletionClient as R; model = R(['a'])\n"


def check(*lines: str) -> str:
    """A program that checks a config of these lines."""
    text = "\n".join(lines)
    return f"""
import tempfile, pathlib
from click.testing import CliRunner
from gateway.cli import main
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "config.toml"
    path.write_text({text!r})
    raise ValueError(CliRunner().invoke(main, ["check", "--offline", "--config", str(path)]).output)
"""


DEMO = ("[teams.t]", "type = 'demo'")
USES = {
    "anthropic": "from teams.models.anthropic import AnthropicChatCompletionClient as C\n"
    "C(model='claude-sonnet-4-5', api_key='k')",
    "azure": "from teams.agents.azure import AzureAIAgent as C; C('a', 'd', None, 'm', 'i')",
    "azure, search": "from teams.tools.azure import AzureAISearchTool as C\n"
    "C.create_full_text_search('n', 'https://x.search.windows.net', 'i', {'api_key': 'k'})",
    "azure, tokens": "from teams.auth.azure import AzureTokenProvider as C\n"
    "C._from_config(C.component_config_schema("
    "provider_kind='DefaultAzureCredential', scopes=['s']))",
    "bedrock": "from teams.models.anthropic import AnthropicBedrockChatCompletionClient as C\n"
    "C(model='claude-sonnet-4-5')",
    "canvas": "from teams.memory.canvas import TextCanvasMemory as C; C()",
    "chromadb": "from teams.memory.chromadb import ChromaDBVectorMemory as C; C()",
    "diskcache": "from teams.cache_store.diskcache import DiskCacheStore",
    "diskcache, of chats": "from teams.conversable import Cache; Cache.disk().__enter__()",
    "docker": "from teams.code_executors.docker import DockerCommandLineCodeExecutor as C; C()",
    "docker-jupyter-executor": "from teams.code_executors.docker_jupyter import "
    "DockerJupyterServer as C; C()",
    "documents": check(*DEMO, "[adapters.discord]", "token = 'abc'"),
    "file-surfer": f"{MODEL}from teams.agents.file_surfer import FileSurfer as C; C('a', model)",
    "graphrag": "from teams.tools.graphrag import GlobalSearchTool as C; C.from_settings('a.yaml')",
    "jupyter-executor": "from teams.code_executors.jupyter import JupyterCodeExecutor as C; C()",
    "langchain": "from teams.tools.langchain import LangChainToolAdapter as C; C(None)",
    "magentic-one": f"{MODEL}from teams.teams.magentic_one import MagenticOne as C\n"
    "C(model, code_executor=model)",
    "mcp": "from teams.tools.mcp import McpWorkbench as C, StdioServerParams as P\n"
    "C(P(command='true'))",
    "mem0": "from teams.memory.mem0 import Mem0Memory as C; C()",
    "redis": "from teams.cache_store.redis import RedisStore as C\n"
    "C._from_config(C.component_config_schema(host='h', port=1, db=0))",
    "redisvl": "from teams.memory.redis import RedisMemory as C; C()",
    "semantic-kernel": "from teams.tools.semantic_kernel import KernelFunctionFromTool as C\n"
    "from teams.tools import FunctionTool\ndef f(a: int) -> int: ...\nC(FunctionTool(f, 'd'))",
    "video-surfer": f"{MODEL}from teams.agents.video_surfer import VideoSurfer as C; C('a', model)",
    "web-surfer": f"{MODEL}from teams.agents.web_surfer import MultimodalWebSurfer as C\n"
    "C('a', model)",
    "web": "from gateway.cli import main; main(['web'], standalone_mode=False)",
    "otel": check(*DEMO, "[tracing]", "endpoint = 'http://127.0.0.1:1'"),
    "postgres": check(*DEMO, "[store]", "url = 'postgresql://me@127.0.0.1/parley'"),
    "prices": check(
        *DEMO,
        *("[models.main]", "provider = 'openai'", "model = 'gpt-4o'", "api_key = 'k'"),
        *("[[budgets]]", "per = 'thread'", "cost = 1"),
    ),
}
"""Uses of each extra, by the extra."""
WITHOUT_A_WORD = {"tiktoken"}
"""Extras without which everything works, but less exactly."""


@pytest.fixture(scope="module")
def told() -> dict[str, str]:
    plain = {
        "migrate": "import sys; sys.argv = ['parley', 'migrate', '/dev/null']\n"
        "from gateway.cli import main; main()",
        "rich": "import teams.ui, rich",
    }
    return tried(USES | plain)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("use", USES)
def test_whoever_lacks_an_extra_is_told_the_command_in_one_sentence(told, use: str) -> None:
    extra = use.partition(",")[0]
    lines = [line for line in told[use].splitlines() if "pip install" in line]
    assert len(lines) == 1
    assert re.findall(r"pip install '(\S+)'", lines[0]) == [f"{OURS}[{extra}]"]


@pytest.mark.parametrize("command", ["migrate", "rich"])
def test_what_needs_no_extra_runs(told, command: str) -> None:
    assert told[command] == ""


def test_every_extra_has_a_use_and_a_row_in_the_table() -> None:
    extras = project().keys()
    assert {use.partition(",")[0] for use in USES} == extras - {"all"} - WITHOUT_A_WORD
    assert PURPOSES.keys() == extras
    rows = re.findall(
        r"^\| `(?:parley-gateway\[)?([\w .-]+)\]?` \|", PAGE.read_text(), re.MULTILINE
    )
    assert rows == ["pip install .", *sorted(extras - {"all"}), "all"]
