"""The table of a config's models, and their probes."""

from pathlib import Path

import pytest

from gateway.app.check import check_config
from gateway.app.load import load_config
from gateway.app.models import UnknownModelName, model_table, probe_named
from tests.fakes.openai_script import Fail, Reply
from tests.fakes.openai_server import FakeOpenAI

CONFIG = """
default_model = "main"
[models.spare]
model = "qwen3:8b"
base_url = "http://localhost:11434/v1"
[models.main]
model = "gpt-4.1-mini"
api_key_env = "OUR_KEY"
fallback = ["claude", "azure"]
[models.claude]
model = "claude-sonnet-4-20250514"
[models.azure]
provider = "azure"
model = "gpt-4o"
base_url = "https://x.openai.azure.com"
api_key_file = "key.txt"
options = { api_version = "2024-06-01" }
[models.braces]
model = "our-own"
api_key = "${OUR_KEY}"
[models.plain]
model = "gpt-4o"
api_key = "sk-in-the-file"
[models.demo]
provider = "demo"
[prices]
"our-own" = { input = 0.5, output = 1.25 }
"""


def written(folder: Path, text: str) -> Path:
    (folder / "key.txt").write_text("sk-secret-of-a-file")
    path = folder / "config.toml"
    path.write_text(text)
    return path


async def test_each_model_is_listed_with_its_key_context_price_and_fallback(tmp_path, monkeypatch):
    monkeypatch.setenv("OUR_KEY", "sk-secret-of-a-variable")
    table = await model_table(load_config(written(tmp_path, CONFIG)))
    assert table.splitlines() == [
        "   name    provider  model                     key                           context"
        "    price in / out  fallback",
        "   spare   openai    qwen3:8b                  none                          ?          ?",
        "*  main    openai    gpt-4.1-mini              OUR_KEY                       1,047,576"
        "  0.4 / 1.6       claude, azure",
        "   claude  openai    claude-sonnet-4-20250514  ANTHROPIC_API_KEY is not set  200,000"
        "    3 / 15",
        "   azure   azure     gpt-4o                    file key.txt                  128,000"
        "    2.5 / 10",
        "   braces  openai    our-own                   OUR_KEY                       ?"
        "          0.5 / 1.25",
        "   plain   openai    gpt-4o                    the config                    128,000"
        "    2.5 / 10",
        "   demo    demo      demo                      none                          ?          ?",
    ]
    assert "sk-" not in table


async def test_named_models_are_listed_alone_and_an_unknown_name_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("OUR_KEY", "sk-secret-of-a-variable")
    loaded = load_config(written(tmp_path, CONFIG))
    lines = (await model_table(loaded, ["plain", "demo", "plain"])).splitlines()
    assert [line.split()[0] for line in lines] == ["name", "plain", "demo"]
    with pytest.raises(UnknownModelName, match="did you mean 'plain'"):
        await model_table(loaded, ["plan"])


async def test_the_built_in_model_has_the_key_of_the_environment(monkeypatch):
    assert "auto  demo      demo" in await model_table(load_config())
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-a-variable")
    [_, line] = (await model_table(load_config())).splitlines()
    assert line.split()[:5] == ["*", "auto", "openai", "gpt-4.1-mini", "OPENAI_API_KEY"]


async def test_named_models_are_asked_once_each_without_fallback_or_repetition(tmp_path):
    refusal = Fail(status=503, headers={"retry-after": "0"})
    async with FakeOpenAI(refusal) as down, FakeOpenAI(Reply(text="ok")) as fine:
        text = f"""
        [models.down]
        model = "gpt-4o"
        base_url = "{down.url}"
        retry = {{ attempts = 5 }}
        fallback = ["fine"]
        [models.fine]
        model = "gpt-4o"
        base_url = "{fine.url}"
        [models.left_out]
        model = "gpt-4o"
        base_url = "{fine.url}"
        """
        loaded = load_config(written(tmp_path, text))
        findings = await probe_named(loaded, ["fine", "down"])
        assert [(each.name, each.good) for each in findings] == [("fine", True), ("down", False)]
        assert (len(down.requests), len(fine.requests)) == (1, 1)


@pytest.mark.parametrize(
    ("counted", "noted"),
    [
        ('[prices]\n"gpt-4o" = { input = 1, output = 1 }', ["own"]),
        ('[[budgets]]\nper = "thread"\ntokens = 1', ["own"]),
        ("", []),
    ],
)
async def test_a_model_without_a_price_is_named_where_costs_are_counted(tmp_path, counted, noted):
    models = (
        '[models.own]\nmodel = "our-own"\nbase_url = "http://x"\n[models.o]\nmodel = "gpt-4o"\n'
    )
    path = written(tmp_path, f"{models}api_key = 'sk-good-key'\n{counted}")
    findings = await check_config(load_config(path), offline=True)
    notes = [each for each in findings if each.kind == "price"]
    assert [each.name for each in notes] == noted
    assert all(each.good and "'our-own'" in each.text for each in notes)
