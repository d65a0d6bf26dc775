"""Models of each provider, asked by `parley check` as config.toml names them."""

import sys
from pathlib import Path
from typing import Any

import pytest

from gateway.app.check import check_config
from gateway.app.findings import Finding
from gateway.app.load import load_config
from tests.fakes.openai_script import Reply
from tests.fakes.openai_server import FakeOpenAI

CONFIG = """
[models.m]
provider = "{provider}"
model = "{model}"
base_url = "{url}"
{more}
"""


async def checked(folder: Path, **settings: str) -> Finding:
    path = folder / "config.toml"
    path.write_text(CONFIG.format(**{"more": "", **settings}))
    findings = await check_config(load_config(path), offline=False)
    [found] = [each for each in findings if each.kind == "model"]
    return found


def fake(module: str, name: str) -> Any:
    """A scripted server; skips the test where its client is not there."""
    return getattr(pytest.importorskip(f"tests.fakes.{module}"), name)


def say(text: str) -> Any:
    return pytest.importorskip("teams.testing").Say(text=text)


async def test_claude_is_asked_with_the_key_that_the_table_names(tmp_path, monkeypatch):
    monkeypatch.setenv("OUR_KEY", "sk-ant-of-ours")
    async with fake("anthropic_server", "FakeAnthropic")() as server:
        server.script(say("ok"))
        model = "claude-haiku-4-5"
        more = 'api_key_env = "OUR_KEY"\noptions = { max_tokens = 9 }'
        found = await checked(
            tmp_path, provider="anthropic", model=model, url=server.url, more=more
        )
    assert found.text.startswith("claude-haiku-4-5 answered in ")
    [request] = server.requests
    assert "sk-ant-of-ours" in request.headers["Authorization"]
    assert request.body["max_tokens"] == 9


async def test_claude_on_bedrock_is_asked_with_the_keys_of_aws(tmp_path, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "of-the-environment")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    async with fake("anthropic_server", "FakeAnthropic")() as server:
        server.script(say("ok"))
        model = "anthropic.claude-haiku-4-5-20251001-v1:0"
        found = await checked(tmp_path, provider="bedrock", model=model, url=server.url)
    assert found.good, found.text
    [request] = server.requests
    assert "Credential=of-the-environment/" in request.headers["Authorization"]


@pytest.mark.parametrize("key", ["", "sk-of-ours"])
async def test_ollama_is_asked_at_its_address_with_a_key_if_there_is_one(tmp_path, key):
    async with fake("ollama_server", "FakeOllama")(say("ok")) as server:
        more = f'api_key = "{key}"' if key else ""
        found = await checked(
            tmp_path, provider="ollama", model="llama3.2", url=server.url, more=more
        )
    assert found.good, found.text
    [request] = server.seen
    assert request.headers.get("Authorization") == (f"Bearer {key}" if key else None)


async def test_another_model_on_azure_is_asked_with_its_key_and_needs_no_model_info(tmp_path):
    pytest.importorskip("teams.models.azure")
    async with FakeOpenAI(Reply(text="ok"), models=["Phi-4"]) as server:
        more = 'api_key = "azure-key-of-ours"'
        found = await checked(
            tmp_path, provider="azure_ai", model="Phi-4", url=server.url, more=more
        )
    assert found.good, found.text
    assert server.requests[0].headers["api-key"] == "azure-key-of-ours"


async def test_a_missing_sdk_is_told_with_the_extra_that_has_it(tmp_path, monkeypatch):
    pytest.importorskip("teams.models.anthropic")
    monkeypatch.setitem(sys.modules, "anthropic", None)
    found = await checked(tmp_path, provider="anthropic", model="claude-x", url="http://x.invalid")
    assert not found.good
    assert "pip install 'parley-gateway[anthropic]'" in found.text


async def test_a_missing_key_is_told_with_its_variable(tmp_path):
    pytest.importorskip("teams.models.anthropic")
    path = tmp_path / "config.toml"
    path.write_text('[models.m]\nprovider = "anthropic"\nmodel = "claude-haiku-4-5"\n')
    findings = await check_config(load_config(path), offline=False)
    [found] = [each for each in findings if each.kind == "model"]
    assert "set ANTHROPIC_API_KEY" in found.text
    assert found.text.endswith("Or set api_key_env in [models.m].")
