"""Law: whatever reads an answer has bounds, or a row."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOR_TESTS = {"console", "simulation", "simulator", "testing"}
"""Folders of wire servers, which people start to try something."""
LIBRARIES = {"aiohttp", "httpx", "httpx2", "requests", "urllib3"}
CLIENTS = {
    *("AsyncClient", "ClientSession", "DiscordClient", "Session", "TCPConnector", "urlopen"),
    *("OpenAI", "AsyncOpenAI", "AzureOpenAI", "AsyncAzureOpenAI"),
    *("Anthropic", "AsyncAnthropic", "AnthropicBedrock", "AsyncAnthropicBedrock"),
    *("WebClient", "AsyncWebClient", "SocketModeClient", "DefaultAsyncHttpxClient"),
    *("SearchClient", "AgentsClient", "DefaultAzureCredential", "OTLPSpanExporter"),
    *("HttpClient", "Redis", "from_env", "get_encoding", "DefaultEmbeddingFunction"),
    *("stdio_client", "sse_client", "streamable_http_client", "async_playwright"),
    *("open_connection", "open_unix_connection", "create_connection"),
}
PIPES = {
    *("create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell"),
    *("Popen", "open_process", "check_output", "popen", "subprocess.run"),
}
REQUESTS = {"Client", "get", "post", "put", "patch", "delete", "head", "request", "stream"}
"""Names at the top of the libraries."""
WATCHED = re.compile(rf"\b(?:{'|'.join(sorted(CLIENTS | PIPES | LIBRARIES))})\b")
HANDED = {"http_client", "httpx_client_factory", "session", "transport"}
"""Arguments by which a client is handed one of ours."""

ROWS = {
    # The factories themselves.
    ("teams/_base/bounded/sessions.py", "ClientSession"): "http_session",
    ("gateway/base/proxy_connector.py", "TCPConnector"): "connections, not answers",
    # Platforms.
    (
        "adapters/discord/connection/shard_session.py",
        "DiscordClient",
    ): "discord.py: Discord's own socket",
    # Protocols.
    ("teams/tools/mcp/_sdk.py", "ClientSession"): "mcp's, over a transport of ours",
    (
        "teams/agents/web_surfer/_proxy.py",
        "open_connection",
    ): "100 MB and 900 s; the browser unpacks",
    ("teams/agents/web_surfer/_session.py", "async_playwright"): "through the proxy above",
    (
        "gateway/control/socket_client.py",
        "open_unix_connection",
    ): "the gateway's own socket, by line",
    # Servers that the operator runs, over libraries that take no client.
    ("gateway/app/tracing.py", "OTLPSpanExporter"): "the operator's collector",
    ("teams/cache_store/redis.py", "Redis"): "the operator's Redis",
    ("teams/code_executors/_container.py", "from_env"): "the machine's container engine",
    ("teams/memory/chromadb/__init__.py", "HttpClient"): "the operator's Chroma",
    # Downloads and tokens of a library's own maker.
    ("teams/auth/azure/_token_provider.py", "DefaultAzureCredential"): "Microsoft's token servers",
    ("teams/tools/azure/_search.py", "DefaultAzureCredential"): "Microsoft's token servers",
    ("teams/agents/azure/_project.py", "DefaultAzureCredential"): "Microsoft's token servers",
    (
        "teams/memory/chromadb/__init__.py",
        "DefaultEmbeddingFunction",
    ): "Chroma's own model, with its hash",
    ("teams/models/_tokens.py", "get_encoding"): "OpenAI's own table, with its hash",
    # Processes.
    ("teams/code_executors/_process.py", "subprocess_exec"): "BoundedOutput",
    ("teams/tools/mcp/_stdio.py", "create_subprocess_exec"): "16,000,000 characters of a line",
    ("teams/_base/documents.py", "Popen"): "no pipe",
    ("teams/_base/documents.py", "open_unix_connection"): "1,600,004 bytes of its process",
    ("adapters/terminal/desktop.py", "create_subprocess_exec"): "no pipe: the person's editor",
    ("adapters/terminal/desktop.py", "subprocess.run"): "no pipe",
    ("adapters/terminal/desktop.py", "Popen"): "no pipe: the person's viewer",
    ("adapters/terminal/clipboard.py", "create_subprocess_exec"): "the bytes of an image",
    ("adapters/terminal/paths.py", "subprocess.run"): "names of the person's own files, for 3 s",
    ("gateway/app/service.py", "subprocess.run"): "systemctl",
}


def entrances(source: str) -> Iterator[str]:
    """Readers of answers in a file that are handed no bounded client."""
    if not WATCHED.search(source):
        return  # nearly all files; parsing takes time
    tree = ast.parse(source)
    functions = (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef))
    bounded = (
        {each.name for each in functions if _hands_on(each)} if "http_client" in source else set()
    )
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in LIBRARIES:
            yield from (each.name for each in node.names if each.name in REQUESTS)
        if isinstance(node, ast.ClassDef):
            yield from (name for base in node.bases if (name := _name(base)) in CLIENTS)
        if (
            isinstance(node, ast.Call)
            and (name := _name(node.func))
            and not _is_handed(node, bounded)
        ):
            yield name


def _name(called: ast.expr) -> str:
    """The watched name of what is called; "" for any other."""
    match called:
        case ast.Attribute(ast.Name("subprocess"), "run"):
            return "subprocess.run"
        case ast.Attribute(ast.Name(module), name) if module in LIBRARIES and name in REQUESTS:
            return f"{module}.{name}"
        case ast.Attribute(_, name) | ast.Name(name) if name in CLIENTS | PIPES:
            return name
        case _:
            return ""


def _hands_on(function: ast.FunctionDef) -> bool:
    """True for a function that returns a bounded client among arguments."""
    return any(
        isinstance(key, ast.Constant)
        and key.value == "http_client"
        and _last(value) == "http_client"
        for node in ast.walk(function)
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
    )


def _is_handed(call: ast.Call, bounded: set[str]) -> bool:
    for given in call.keywords:
        if given.arg in HANDED:
            return True
        if (
            given.arg is None
            and isinstance(given.value, ast.Call)
            and _last(given.value) in bounded
        ):
            return True
    return False


def _last(given: ast.expr) -> str:
    """The function whose result is given; "" for anything else."""
    match given:
        case ast.Call(ast.Name(name)):
            return name
        case _:
            return ""


def product() -> Iterator[Path]:
    for package in ("teams", "gateway", "adapters"):
        for file in sorted((ROOT / package).rglob("*.py")):
            if not FOR_TESTS & {*file.relative_to(ROOT).parts}:
                yield file


def test_whatever_reads_an_answer_has_bounds_or_a_row():
    found = Counter(
        (str(file.relative_to(ROOT)), name)
        for file in product()
        for name in entrances(file.read_text())
    )
    new = {entrance: count for entrance, count in found.items() if entrance not in ROWS}
    assert not new, f"give them http_client() or http_session(), or a row with the reason: {new}"
    assert not ROWS.keys() - found.keys(), "rows of what is gone"
    twice = {entrance for entrance, count in found.items() if count > MOST.get(entrance, 1)}
    assert not twice, f"one more beside a row: {twice}"


MOST = {
    ("teams/agents/web_surfer/_proxy.py", "open_connection"): 3,
}


@pytest.mark.parametrize(
    "source",
    [
        "httpx.AsyncClient(timeout=3)",
        "AsyncClient()",
        "aiohttp.ClientSession()",
        "openai.AsyncOpenAI(api_key=key)",
        "sdk.AsyncAnthropic(**settings(config))",
        "httpx.get(url)",
        "aiohttp.request('GET', url)",
        "urllib.request.urlopen(url)",
        "await asyncio.create_subprocess_exec('x', stdout=-1)",
        "subprocess.run(['x'], capture_output=True)",
        "class Mine(aiohttp.ClientSession): pass",
    ],
)
def test_what_has_no_bounds_is_found(source: str):
    assert list(entrances(source))


@pytest.mark.parametrize(
    "source",
    [
        "http_client(httpx.AsyncClient)",
        "http_session(connector=c)",
        "openai.AsyncOpenAI(http_client=http_client(openai.DefaultAsyncHttpxClient))",
        "def of():\n    return {'http_client': http_client(kind)}\nAsyncOpenAI(**of())",
    ],
)
def test_what_has_bounds_needs_no_row(source: str):
    assert not list(entrances(source))
