"""[knowledge] in config.toml: its mistakes, each at its place."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from gateway.app.load import load_config
from gateway.base.redaction import secrets_of
from gateway.config.powers import Power, powers_of
from gateway.config.problems import ConfigError

CONFIG = """
[knowledge.docs]
folder = "docs"
addresses = ["https://example.com/page"]

[knowledge.docs.embeddings]
model = "small"
base_url = "https://vectors.example"
api_key_env = "VECTORS_KEY"

[teams.desk]
type = "round_robin"
max_turns = 1

[teams.desk.agents.clerk]
knowledge = ["docs"]
"""


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTORS_KEY", "swordfish")


def write(folder: Path, text: str) -> Path:
    (folder / "config.toml").write_text(text)
    return folder / "config.toml"


def test_a_folder_begins_at_the_config_and_the_key_is_a_secret(tmp_path: Path):
    config = load_config(write(tmp_path, CONFIG)).config
    table = config.knowledge["docs"]
    assert table.folder == tmp_path / "docs"
    assert (table.files, table.passages, table.allow_private) == (["*"], 5, False)
    assert "swordfish" in set(secrets_of(config))
    assert "swordfish" not in repr(config)


def test_a_found_config_is_asked_about_its_folder_and_its_servers():
    powers = powers_of(tomllib.loads(CONFIG))
    assert Power("folder", "docs") in powers
    assert Power("address", "https://example.com/page") in powers
    assert Power("address", "https://vectors.example") in powers
    assert Power("variable", "VECTORS_KEY") in powers
    elsewhere = powers_of({"backup": {"folder": "/mnt/backups"}})
    assert elsewhere == [Power("folder", "/mnt/backups")]
    assert powers_of({"backup": {"folder": "backups"}}) == []


def test_a_folder_of_backups_is_no_knowledge(tmp_path):
    config = f'{CONFIG}\n[backup]\nfolder = "docs/backups"\n'
    with pytest.raises(ConfigError, match="agents would be shown its threads"):
        load_config(write(tmp_path, config))


@pytest.mark.parametrize(
    ("before", "after", "place", "said"),
    [
        ('["docs"]', '["dogs"]', "agents.clerk.knowledge[0]", "did you mean 'docs'?"),
        ("[knowledge.docs]", '[knowledge."../x"]', "knowledge.'../x'", "a name of letters"),
        ('"https://example.com/page"', '"ftp://x"', "knowledge.docs.addresses", "expected an addr"),
        ('folder = "docs"', 'folder = "docs/.."', "docs.folder", "whose secrets agents would"),
        ('folder = "docs"', 'folder = "/"', "docs.folder", "whose secrets agents would"),
        ('folder = "docs"', "passages = 0", "knowledge.docs.passages", "1"),
        (
            'folder = "docs"\naddresses = ["https://example.com/page"]',
            "",
            "docs.folder",
            "is missing",
        ),
        ('model = "small"', "", "knowledge.docs.embeddings.model", "missing"),
    ],
)
def test_a_mistake_is_said_at_its_place(tmp_path: Path, before: str, after: str, place, said):
    assert before in CONFIG
    with pytest.raises(ConfigError) as caught:
        load_config(write(tmp_path, CONFIG.replace(before, after)))
    assert place in str(caught.value)
    assert said in str(caught.value)
