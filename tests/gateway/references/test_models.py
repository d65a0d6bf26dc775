"""Mistakes in the models of a config, each at its place."""

from pathlib import Path

import pytest

from gateway.app.load import load_config
from gateway.config.problems import ConfigError

AZURE = 'provider = "azure"\nmodel = "gpt-4o"\n'
ADDRESS = 'base_url = "https://x.openai.azure.com"\n'
VERSION = 'options = { api_version = "2024-06-01" }\n'


def mistakes(folder: Path, text: str) -> list[tuple[str, str]]:
    path = folder / "config.toml"
    path.write_text(text)
    try:
        load_config(path)
    except ConfigError as error:
        return [(".".join(map(str, each.path)), each.text) for each in error.problems]
    return []


@pytest.mark.parametrize(
    ("settings", "key", "said"),
    [
        (
            'provider = "azur"\nmodel = "x"',
            "provider",
            "found 'azur', expected a provider; did you mean 'azure'?",
        ),
        (
            'provider = "mistral"\nmodel = "x"',
            "provider",
            "found 'mistral', expected a provider; there is 'openai', 'azure', 'azure_ai', ",
        ),
        (AZURE + VERSION, "base_url", "is missing: address of the resource, such as "),
        (AZURE + ADDRESS, "options.api_version", "is missing: the provider needs it"),
        (
            AZURE + ADDRESS + 'options = { api_version = "1", azure_deploymnt = "x" }',
            "options.azure_deploymnt",
            "did you mean 'azure_deployment'?",
        ),
        ('provider = "azure"\n' + ADDRESS + VERSION, "model", "is missing: name of the model"),
        (
            'model = "gpt-4o"\nmax_retries = 2\nretry = { attempts = 2 }',
            "max_retries",
            "found 2 beside retry, expected one of the two",
        ),
        ('model = "gpt-4o"\nretry = { attempts = 0 }', "retry.attempts", "greater than or equal"),
        (
            'model = "gpt-4o"\nfallback = ["othr"]',
            "fallback.0",
            "found 'othr', expected the name of a model; did you mean 'other'?",
        ),
        (
            'provider = "anthropic"\nmodel = "claude-sonnet-4-5"\nbase_url = "nowhere"',
            "base_url",
            "expected an address that begins with http:// or https://",
        ),
        ('model = "gpt-4o"\nfallback = ["m"]', "fallback.0", "found m -> m, expected a model that"),
    ],
)
def test_a_mistake_in_a_model_is_told_at_its_place(tmp_path, settings, key, said):
    text = f'[models.other]\nmodel = "gpt-4o"\n[models.m]\n{settings}\n'
    [(place, told)] = mistakes(tmp_path, text)
    assert place == f"models.m.{key}"
    assert said in told


def test_each_circle_of_fallbacks_is_told_once(tmp_path):
    chain = {"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"], "e": ["f"], "f": []}
    text = "".join(
        f'[models.{name}]\nmodel = "gpt-4o"\nfallback = {to}\n' for name, to in chain.items()
    )
    [(place, told)] = mistakes(tmp_path, text)
    assert place == "models.c.fallback.0"
    assert told == "found a -> b -> c -> a, expected a model that does not lead back"


def test_a_right_model_of_azure_is_no_mistake(tmp_path):
    assert mistakes(tmp_path, f"[models.m]\n{AZURE}{ADDRESS}{VERSION}") == []


def test_ollama_is_found_by_its_host_alone(tmp_path):
    text = '[models.m]\nprovider = "ollama"\nmodel = "qwen3:8b"\nbase_url = "gpu.example:11434"\n'
    assert mistakes(tmp_path, text) == []


@pytest.mark.parametrize(
    ("provider", "key", "said"),
    [
        ("ollama", "max_retries = 1", "the provider 'ollama' takes none; retry does it for any"),
        ("bedrock", 'api_key = "sk-abcdef"', "the provider 'bedrock' takes none"),
    ],
)
def test_a_setting_that_a_provider_has_no_use_for_is_a_mistake(tmp_path, provider, key, said):
    pytest.importorskip("teams.models.anthropic")
    pytest.importorskip("teams.models.ollama")
    text = f'[models.m]\nprovider = "{provider}"\nmodel = "x"\n{key}\n'
    found = dict(mistakes(tmp_path, text))
    assert found[f"models.m.{key.partition(' ')[0]}"] == said
