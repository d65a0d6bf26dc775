"""Web surfers of config.toml and of component files, without a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.app.load import load_config
from gateway.config.allowances import AllowedAddress, AllowedCommand, AllowedMount
from gateway.config.powers import Power, powers_of
from gateway.config.problems import ConfigError
from gateway.factory.component_files import needs_of
from gateway.factory.ownership import all_parts, holdings_of
from gateway.factory.teams import TeamFactory
from teams.agents.web_surfer import MultimodalWebSurfer
from teams.models.replay import ReplayChatCompletionClient

CONFIG = """
[models.m]
provider = "openai"
model = "gpt-4o"
base_url = "http://127.0.0.1:1/v1"
api_key = "key"
[teams.web]
type = "round_robin"
max_turns = 1
agents.surfer = { type = "web_surfer", start_page = "https://docs.example.com/" }
[policies.http]
hosts = [".example.com"]
private_hosts = ["intranet.example.com"]
"""


def source(folder: Path, text: str) -> TeamFactory:
    (folder / "config.toml").write_text(text)
    loaded = load_config(folder / "config.toml")
    return TeamFactory(loaded.config, loaded.imports, start_folder=folder)


async def test_a_surfer_keeps_to_the_policy_and_to_the_threads_folder(tmp_path: Path):
    teams = source(tmp_path, CONFIG)
    built = await teams.build("web", workdir=tmp_path / "work")
    (surfer,) = [each for each in all_parts(built.team) if isinstance(each, MultimodalWebSurfer)]
    config = surfer.dump_component().config
    assert config["start_page"] == "https://docs.example.com/"
    assert config["downloads_folder"] == config["debug_dir"] == str(tmp_path / "work")
    assert config["to_save_screenshots"] is True
    rules = surfer.network
    assert [rules.reaches(host) for host in ("a.example.com", "evil.com")] == [True, False]
    assert rules.is_private_allowed("intranet.example.com")
    assert not rules.is_private_allowed("docs.example.com")
    assert surfer.close in holdings_of(built.team).closes
    await teams.aclose()


async def test_a_policy_undoes_what_python_allowed(tmp_path: Path):
    teams = source(tmp_path, CONFIG.partition("[teams.web]")[0] + FACTORY)
    built = await teams.build("web", workdir=tmp_path)
    (surfer,) = [each for each in all_parts(built.team) if isinstance(each, MultimodalWebSurfer)]
    assert not surfer.network.is_private_allowed("127.0.0.1")
    await teams.aclose()


FACTORY = '[teams.web]\nfactory = "tests.gateway.factory.test_web_surfer:build_team"\n'


def surfer_of_python() -> MultimodalWebSurfer:
    info: Any = dict.fromkeys(("vision", "function_calling", "json_output"), True)
    info |= {"family": "unknown", "structured_output": False}
    model = ReplayChatCompletionClient(["Hello."], model_info=info)
    return MultimodalWebSurfer(
        "surfer",
        model,
        downloads_folder="/srv/files",
        browser_data_dir="/srv/profile",
        allow=["127.0.0.1"],
    )


def build_team() -> Any:
    from teams import RoundRobinGroupChat

    return RoundRobinGroupChat([surfer_of_python()], max_turns=1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("docs.example.com", "evil.com"), "not among the hosts of"),
        (("https://docs", "file://docs"), "start_page"),
        (("[policies.http]", '[policies.tools]\nclik = "ask"\n[policies.http]'), "'click'"),
    ],
    ids=["host", "scheme", "tool"],
)
def test_mistakes_are_told(tmp_path: Path, change: tuple[str, str], said: str):
    (tmp_path / "config.toml").write_text(CONFIG.replace(*change))
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path / "config.toml")
    assert said in str(caught.value)


def test_a_component_file_needs_the_operators_word_for_a_browser():
    data = json.loads(surfer_of_python().dump_component().model_dump_json())
    assert needs_of(data) == [
        AllowedCommand(command=["chromium"]),
        AllowedAddress(base_url="https://www.bing.com"),
        AllowedMount(mount="/srv/files"),
        AllowedMount(mount="/srv/profile"),
    ]


def test_a_config_with_a_browser_has_its_power():
    table = {"teams": {"web": {"agents": {"surfer": {"type": "web_surfer"}}}}}
    assert powers_of(table) == [Power("command", "a browser, on any public address")]
