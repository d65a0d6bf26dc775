"""The operator's sentence about an error, in check and thread."""

import pytest

from gateway.app.assemble import any_gateway, store_of
from gateway.app.check import check_config
from gateway.app.load import load_config
from gateway.config.models import MODELS
from gateway.errors import TeamUnusable, ToolFailed
from gateway.events import Notice
from gateway.factory.advice import LONGEST, advise
from teams.base import TeamError
from teams.models import (
    BadCredentials,
    ContextOverflow,
    CutAnswer,
    ModelTimeout,
    ModelUnreachable,
    UnknownModel,
)
from tests.fakes.openai_script import Fail
from tests.fakes.openai_server import FakeOpenAI
from tests.gateway.scripted import of, turn

CONFIG = """
[models.other]
model = "gpt-4o"
base_url = "http://localhost:1/v1"
max_retries = 0
[models.main]
model = "gpt-4o"
base_url = "{url}"
api_key = "sk-my-own-secret"
max_retries = 0
[teams.solo]
type = "round_robin"
max_turns = 1
agents.helper = {{ model = "main" }}
"""
AZURE = MODELS.table(model="gpt-4o", base_url="https://ann:pass@x.example/v1/")


@pytest.mark.parametrize(
    ("failure", "words", "setting"),
    [
        pytest.param(
            Fail(status=401, message="Incorrect API key provided: sk-my-own-secret\x1b[2J."),
            "Incorrect API key provided: ",
            "Here the key comes from [models.main]: api_key_env or api_key_file or api_key.",
            id="key",
        ),
        pytest.param(
            Fail(status=404, message="No access to gpt-4o.", code="model_not_found"),
            "No access to gpt-4o",
            "The setting is model in [models.main].",
            id="model",
        ),
        pytest.param(
            Fail(status=400, message="Unsupported value: temperature."),
            "Unsupported value: temperature",
            "The settings are options and model_info in [models.main].",
            id="request",
        ),
        pytest.param(
            Fail(status=400, message="Too long.", code="context_length_exceeded"),
            "Send less, or use a model with a larger window.",
            'The model_context "auto" summarises what is old, a bounded one leaves it out.',
            id="length",
        ),
    ],
)
async def test_the_operator_reads_in_a_thread_what_check_says(tmp_path, failure, words, setting):
    async with FakeOpenAI(failure, failure) as server:
        (tmp_path / "config.toml").write_text(CONFIG.format(url=server.url))
        loaded = load_config(tmp_path / "config.toml")
        findings = await check_config(loaded, offline=False)
        async with any_gateway(loaded, store_of(loaded)) as client:
            thread = await client.create_thread()
            [notice] = of(Notice, await turn(client, thread.id, "Hi"))
    [checked] = [each.text for each in findings if (each.kind, each.name) == ("model", "main")]
    assert notice.for_operator == checked
    assert words in checked
    assert checked.endswith(f" {setting}")
    assert "secret" not in checked.replace("[secret]", "")
    assert words not in notice.text


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TeamUnusable("There is no team 'x'."), "There is no team 'x'."),
        (KeyError("x"), "KeyError: 'x'"),
        (ModelTimeout("Late.", model="gpt-4o"), "Late. The setting is timeout in [models.m]."),
        (ModelTimeout("Late.", model="another"), "Late."),
        (
            ModelTimeout("Late.", model="gpt-4o", endpoint="https://x.example/v1"),
            "Late. The setting is timeout in [models.m].",
        ),
        (ModelTimeout("Late.", model="gpt-4o", endpoint="https://y.example/v1"), "Late."),
        (BadCredentials("No key."), "No key. Or set api_key_env in [models.m]."),
        (
            ContextOverflow("Long.", model="another"),
            'Long. The model_context "auto" summarises what is old, a bounded one leaves it out.',
        ),
        (CutAnswer("Cut.", model="gpt-4o"), "Cut. The settings are options in [models.m]."),
        (ValueError("x" * 2 * LONGEST), f"ValueError: {'x' * (LONGEST - 12)}…"),
        (ValueError("token=sk-0123456789"), "ValueError: token=[secret]"),
    ],
)
def test_an_error_is_told_with_the_setting_of_its_model(error, said):
    assert advise(error, {"m": AZURE, "d": MODELS.table(provider="demo")}) == said
    wrapped = TeamError("it failed")
    wrapped.__cause__ = error
    assert advise(wrapped, {"m": AZURE}) == said


def test_a_failed_tool_is_named_with_its_error():
    failed = ToolFailed("send_mail")
    failed.__cause__ = PermissionError("no relaying")
    assert advise(failed, {}) == "The tool 'send_mail' failed: PermissionError: no relaying"


def test_a_variable_is_the_setting_where_the_config_leaves_it_out(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    monkeypatch.setenv("PARLEY_MODEL", "gpt-9")
    models = {"auto": MODELS.table(provider="auto", model="gpt-4o")}
    said = advise(UnknownModel("No such model.", model="gpt-9"), models)
    assert said == "No such model. The setting is the variable PARLEY_MODEL."


AT_AZURE = MODELS.table(
    provider="azure", model="gpt-4o", base_url="https://x.example/", options={"api_version": "1"}
)
DEPLOYED = "https://x.example/openai/deployments/ours"


@pytest.mark.parametrize(
    ("model", "error", "variables", "said"),
    [
        (
            AT_AZURE,
            BadCredentials("No.", model="gpt-4o", endpoint=DEPLOYED),
            {"AZURE_OPENAI_API_KEY": "k-0123456789"},
            "No. Here the key comes from the variable AZURE_OPENAI_API_KEY; [models.m] can name "
            "another.",
        ),
        (
            AT_AZURE,
            ModelUnreachable("No.", model="gpt-4o", endpoint=DEPLOYED),
            {"OPENAI_BASE_URL": "https://y.example"},
            "No. The setting is base_url in [models.m].",
        ),
        (
            MODELS.table(provider="ollama", model="qwen3"),
            ModelUnreachable("No.", model="qwen3"),
            {"OLLAMA_HOST": "http://localhost:1"},
            "No. The setting is the variable OLLAMA_HOST.",
        ),
        (
            MODELS.table(provider="bedrock", model="claude-x"),
            BadCredentials("No.", model="claude-x"),
            {},
            "No.",
        ),
        (
            MODELS.table(provider="anthropic", model="claude-x"),
            BadCredentials("No.", model="claude-x"),
            {"ANTHROPIC_API_KEY": "k-0123456789"},
            "No. Here the key comes from the variable ANTHROPIC_API_KEY; [models.m] can name "
            "another.",
        ),
    ],
)
def test_each_provider_has_its_own_variables(monkeypatch, model, error, variables, said):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert advise(error, {"m": model}) == said
