"""Law: an answer of a server has bounds before anybody understands it."""

from __future__ import annotations

import gzip
import itertools
import re
import resource
import time
import zlib
from collections.abc import Awaitable, Callable
from functools import cache, reduce
from importlib import import_module
from typing import Any

import pytest
from azure.core.credentials import AzureKeyCredential
from pydantic import SecretStr

from adapters.discord.connection.rest import Rest
from adapters.slack.config import Config as SlackConfig
from adapters.slack.connection.web_api import SlackClients
from teams.code_executors.docker_jupyter import JupyterClient, JupyterConnectionInfo
from teams.core import CancellationToken
from teams.memory.knowledge import EmbeddingEndpoint
from teams.memory.knowledge._sources import fetch_page
from teams.models import ModelFamily, ModelInfo, UserMessage
from teams.models.anthropic import AnthropicChatCompletionClient
from teams.models.azure import AzureAIChatCompletionClient
from teams.models.ollama import OllamaChatCompletionClient
from teams.models.openai import AzureOpenAIChatCompletionClient, OpenAIChatCompletionClient
from teams.tools.azure import AzureAISearchTool
from teams.tools.http import HttpTool
from teams.tools.mcp import McpWorkbench, SseServerParams, StreamableHttpServerParams
from tests.fakes.raw_server import answering

INFO = ModelInfo(
    vision=False,
    function_calling=True,
    json_output=True,
    family=ModelFamily.UNKNOWN,
    structured_output=False,
)
MEGABYTE = b"a" * 1_000_000


PIECE = bytes(10_000_000)


def packed(pieces: int) -> bytes:
    """Many pieces of zeros, of which only one is really packed."""
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    return (packer.compress(PIECE) + packer.flush(zlib.Z_FULL_FLUSH)) * pieces + b"\x03\x00"


def gzipped(pieces: int) -> bytes:
    check = reduce(lambda check, _: zlib.crc32(PIECE, check), range(pieces), 0)
    size = pieces * len(PIECE)
    head = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
    return head + packed(pieces) + check.to_bytes(4, "little") + size.to_bytes(4, "little")


@cache
def bomb() -> bytes:
    """A gigabyte in 1.7 kB, packed twice."""
    return gzip.compress(gzipped(100), 9)


@cache
def once() -> bytes:
    return gzipped(20)


@cache
def deflated() -> bytes:
    check = reduce(lambda check, _: zlib.adler32(PIECE, check), range(20), 1)
    return b"\x78\xda" + packed(20) + check.to_bytes(4)


def test_the_zeros_are_packed_as_they_should_be():
    assert gzip.decompress(once()) == zlib.decompress(deflated()) == PIECE * 20
    assert gzip.decompress(bomb()) == gzipped(100)


PACKED = (bomb, once, deflated)
MOST_MEMORY = 150_000_000
MOST_SECONDS = 4.0
"""Processor time of one call, and of the server that answers it."""

Call = Callable[[str], Awaitable[Any]]


def endless(chunk: bytes) -> Callable[[], Any]:
    return lambda: itertools.repeat(chunk)


OK = "200 OK\r\nContent-Type: application/json"
EVENTS = "200 OK\r\nContent-Type: text/event-stream"
ANSWERS: dict[str, tuple[str, Any]] = {
    "gzip, gzip": (f"{OK}\r\nContent-Encoding: gzip, gzip", bomb),
    "gzip of gzip in two headers": (
        f"{OK}\r\nContent-Encoding: gzip\r\nContent-Encoding: gzip",
        bomb,
    ),
    "gzip": (f"{OK}\r\nContent-Encoding: gzip", once),
    "deflate": (f"{OK}\r\nContent-Encoding: deflate", deflated),
    "br": (f"{OK}\r\nContent-Encoding: br", b"\x8b\x03\x80" + bytes(100)),
    "zstd": (f"{OK}\r\nContent-Encoding: zstd", bytes(100)),
    "unknown packing": (f"{OK}\r\nContent-Encoding: exi", bytes(100)),
    "no gzip": (f"{OK}\r\nContent-Encoding: gzip", b"{}" * 100),
    "endless": (OK, endless(MEGABYTE)),
    "long JSON": (OK, b'["' + b"\\u00e9" * 4_000_000 + b'"]'),
    "endless line of events": (EVENTS, endless(b"data: " + MEGABYTE)),
    "endless event": (EVENTS, endless(b"data: " + MEGABYTE + b"\n")),
    "endless lines": (EVENTS, endless(b": still here\n\n" * 50_000)),
}


async def web_tool(address: str) -> None:
    port = int(address.rpartition(":")[2])
    tool = HttpTool("t", "127.0.0.1", port, {"type": "object", "properties": {}}, timeout=30)
    await tool.run_json({}, CancellationToken())


async def page(address: str) -> None:
    await fetch_page(f"{address}/page", "", longest=16_000_000, private=True)


async def vectors(address: str) -> None:
    endpoint = EmbeddingEndpoint(model="m", base_url=address)
    await endpoint.vectors(["text"], seconds=30)


def model(make: Callable[[str], Any], *, stream: bool) -> Call:
    async def ask(address: str) -> None:
        client = make(address)
        asked = [UserMessage(content="hi", source="user")]
        try:
            if stream:
                _ = [piece async for piece in client.create_stream(asked)]
            else:
                await client.create(asked)
        finally:
            await client.close()

    return ask


def openai(address: str) -> Any:
    return OpenAIChatCompletionClient(
        model="m", base_url=address, model_info=INFO, api_key="k", max_retries=0
    )


def azure_openai(address: str) -> Any:
    return AzureOpenAIChatCompletionClient(
        model="m",
        azure_endpoint=address,
        api_version="2024-10-21",
        api_key="k",
        model_info=INFO,
        max_retries=0,
    )


def azure_ai(address: str) -> Any:
    return AzureAIChatCompletionClient(
        endpoint=address,
        credential=AzureKeyCredential("k"),
        model_info=INFO,
        model="m",
        max_retries=0,
    )


def anthropic(address: str) -> Any:
    return AnthropicChatCompletionClient(
        model="claude-haiku-4-5", base_url=address, api_key="k", max_retries=0
    )


def ollama(address: str) -> Any:
    return OllamaChatCompletionClient(model="m", host=address, model_info=INFO)


async def mcp(address: str) -> None:
    async with McpWorkbench(StreamableHttpServerParams(url=address)) as bench:
        await bench.list_tools()


async def mcp_events(address: str) -> None:
    async with McpWorkbench(SseServerParams(url=address)) as bench:
        await bench.list_tools()


async def jupyter(address: str) -> None:
    port = int(address.rpartition(":")[2])
    client = JupyterClient(JupyterConnectionInfo("127.0.0.1", use_https=False, port=port))
    try:
        await client.list_kernels()
    finally:
        await client.close()


async def search(address: str) -> None:
    tool = AzureAISearchTool.create_full_text_search(
        "s", address, "books", AzureKeyCredential("k"), search_fields=["a"]
    )
    await tool.run("text")


async def slack(address: str) -> None:
    config = SlackConfig.model_validate(
        {"bot_token": "xoxb-1", "app_token": "xapp-1", "api_url": f"{address}/"}
    )
    async with SlackClients(config):
        pass


async def discord(address: str) -> None:
    async with Rest(SecretStr("token"), address) as rest:
        await rest.call("GET", "/users/@me")


async def discord_file(address: str) -> None:
    async with Rest(SecretStr("token"), address) as rest:
        await rest.fetch(f"{address}/file", 16_000_000)


SLOW = ("mcp events", "vectors")
"""Clients of others that wait before they give up."""
CALLS: dict[str, Call] = {
    "http tool": web_tool,
    "page": page,
    "vectors": vectors,
    "openai": model(openai, stream=False),
    "openai stream": model(openai, stream=True),
    "azure openai": model(azure_openai, stream=False),
    "azure ai": model(azure_ai, stream=True),
    "anthropic": model(anthropic, stream=False),
    "anthropic stream": model(anthropic, stream=True),
    "ollama": model(ollama, stream=False),
    "ollama stream": model(ollama, stream=True),
    "mcp": mcp,
    "mcp events": mcp_events,
    "jupyter": jupyter,
    "azure search": search,
    "slack": slack,
    "discord": discord,
    "discord file": discord_file,
}


SLICE = ("gzip, gzip", "gzip", "endless line of events")
"""Answers that every client gets; `make nightly` has the rest."""


async def costs(call: Call, head: str, body: Any) -> str:
    """The end of a call that took little memory and time."""
    for library in ("anthropic", "mcp", "openai"):
        import_module(library)  # slow, and no server's fault
    body = body() if body in PACKED else body
    memory, since = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    async with answering(head, body) as address:
        try:
            end = str(await call(address))
        except Exception as error:
            end = f"{type(error).__name__}: {error}"
    used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) * 1024
    assert used < MOST_MEMORY, f"{used:,} bytes of memory"
    assert (seconds := time.process_time() - since) < MOST_SECONDS, f"{seconds:.1f} s"
    return end


@pytest.mark.parametrize("what", SLICE)
@pytest.mark.parametrize("client", [client for client in CALLS if client not in SLOW])
async def test_no_answer_costs_more_than_its_bounds(client: str, what: str):
    await costs(CALLS[client], *ANSWERS[what])


@pytest.mark.nightly
@pytest.mark.timeout(300)
@pytest.mark.parametrize("client", CALLS)
async def test_no_client_is_hurt_by_any_answer(client: str):
    for what, answer in ANSWERS.items():
        if not (client.startswith("mcp") and what == "endless lines"):  # a session has no last byte
            await costs(CALLS[client], *answer)


@pytest.mark.parametrize("what", ANSWERS)
async def test_an_http_tool_refuses_what_breaks_a_bound(what: str):
    head, body = ANSWERS[what]
    end = await costs(CALLS["http tool"], head, body)
    assert end.startswith("ValueError: The answer "), end
    assert re.search("more than 1,000,000 bytes|is packed as|not packed as", end), end


@pytest.mark.parametrize("what", ANSWERS)
async def test_a_model_s_answer_that_breaks_a_bound_is_a_bad_answer(what: str):
    end = await costs(CALLS["anthropic"], *ANSWERS[what])
    assert end.startswith("BadAnswer: The answer "), end


CHARSETS = ("punycode", "utf-7", "idna", "hz", "unicode_escape", "undefined", "rot13", "no-such")
TEXT = b"a-" + b"b" * 100_000
ERROR = "400 Bad Request\r\nContent-Type: text/plain; charset={}"


@pytest.mark.parametrize("charset", CHARSETS)
async def test_a_text_is_read_in_encodings_of_the_web_alone(charset: str):
    async def ask(address: str) -> Any:
        port = int(address.rpartition(":")[2])
        tool = HttpTool("t", "127.0.0.1", port, {"type": "object", "properties": {}}, timeout=30)
        return await tool.run_json({}, CancellationToken())

    end = await costs(ask, f"200 OK\r\nContent-Type: text/plain; charset={charset}", TEXT)
    assert end == TEXT.decode()


@pytest.mark.parametrize("client", [client for client in CALLS if client not in SLOW])
async def test_an_error_s_text_is_read_in_encodings_of_the_web_alone(client: str):
    await costs(CALLS[client], ERROR.format("punycode"), TEXT)


@pytest.mark.parametrize("stream", [False, True])
async def test_an_error_s_long_text_is_cut(stream: bool):
    end = await costs(model(openai, stream=stream), ERROR.format("utf-8"), endless(MEGABYTE))
    assert end.startswith("BadRequest: "), end
