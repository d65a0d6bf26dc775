"""Models of AutoGen's files as tables of the config."""

from typing import Any

import pytest

from gateway.migrate.fields import Report
from gateway.migrate.part_tables import PartTables
from tests.gateway.migrate.gallery import form

EXT = "autogen_ext.models"


def table(provider: str, **config: Any) -> tuple[dict[str, Any], Report]:
    report = Report()
    parts = PartTables(report)
    name = parts.model(form(f"{EXT}.{provider}", **config), "model")
    assert name is not None
    return parts.models[name], report


@pytest.mark.parametrize(
    ("provider", "config", "made"),
    [
        pytest.param(
            "openai.AzureOpenAIChatCompletionClient",
            {
                "model": "gpt-4o",
                "azure_endpoint": "https://ann:pass@x.openai.azure.com",
                "azure_deployment": "ours",
                "api_version": "2024-06-01",
                "api_key": "**********",
            },
            {
                "provider": "azure",
                "model": "gpt-4o",
                "base_url": "https://x.openai.azure.com",
                "options": {"azure_deployment": "ours", "api_version": "2024-06-01"},
                "api_key_env": "GPT_4O_API_KEY",
            },
            id="azure",
        ),
        pytest.param(
            "anthropic.AnthropicChatCompletionClient",
            {"model": "claude-x", "max_tokens": 9, "top_k": 3, "api_key": "**********"},
            {
                "provider": "anthropic",
                "model": "claude-x",
                "options": {"max_tokens": 9, "top_k": 3},
                "api_key_env": "ANTHROPIC_API_KEY",
            },
            id="anthropic",
        ),
        pytest.param(
            "ollama.OllamaChatCompletionClient",
            {"model": "qwen3", "host": "http://big:11434", "options": {"num_ctx": 9}},
            {
                "provider": "ollama",
                "model": "qwen3",
                "base_url": "http://big:11434",
                "options": {"options": {"num_ctx": 9}},
            },
            id="ollama",
        ),
    ],
)
def test_a_model_keeps_its_provider_and_names_a_variable_for_its_key(provider, config, made):
    assert table(provider, **config)[0] == made


def test_what_may_hold_a_secret_of_aws_is_left_out_and_told():
    made, report = table(
        "anthropic.AnthropicBedrockChatCompletionClient",
        model="anthropic.claude-x",
        api_key="**********",
        bedrock_info={"aws_secret_key": "s3cret"},
    )
    assert made == {"provider": "bedrock", "model": "anthropic.claude-x"}
    [lost] = report.lost
    assert lost.startswith("model.bedrock_info: it may hold a secret")
    assert not report.todo
