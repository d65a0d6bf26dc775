"""`[store]` with the address of a database."""

import tomllib

import pytest

from gateway.app.config_diff import changed_settings, changes
from gateway.app.load import load_config
from gateway.base.redaction import REDACTION
from gateway.config.powers import Power, powers_of
from gateway.config.root import Config
from gateway.config.settings import StoreConfig
from tests.gateway.config.test_config import load, mistakes

URL = "postgresql://parley:pass-word@db.example.com/parley"


@pytest.mark.parametrize(
    "setting", ['url = "postgresql://parley:${WORD}@db/x"', 'url_env = "URL"', 'url_file = "url"']
)
def test_the_address_is_given_like_every_secret(tmp_path, monkeypatch, setting):
    monkeypatch.setenv("WORD", "pass-word")
    monkeypatch.setenv("URL", "postgresql://parley:pass-word@db/x")
    (tmp_path / "url").write_text("postgresql://parley:pass-word@db/x\n")
    store = load(tmp_path, f"[store]\n{setting}").config.store
    assert store.url is not None
    assert store.url.get_secret_value() == "postgresql://parley:pass-word@db/x"
    assert "pass-word" not in repr(store)
    assert "pass-word" not in REDACTION.known("refused: pass-word")
    assert (store.pool_size, store.file_mb, store.work_mb) == (8, 25, 200)


@pytest.mark.parametrize(
    "url", ["mysql://u:pass-word@db/x", "postgresql://u:pass-word/@db/x", "postgresql://pass-word"]
)
def test_a_wrong_address_is_a_mistake_that_shows_nothing_of_it(tmp_path, url):
    found = mistakes(tmp_path, f'[store]\nurl = "{url}"')
    assert found["line 2, store.url"].startswith('expected "postgresql://HOST:PORT/NAME"')
    assert "pass-word" not in str(found)


def test_a_pool_has_two_connections_or_more(tmp_path):
    found = mistakes(tmp_path, f'[store]\nurl = "{URL}"\npool_size = 1')
    assert found["line 3, store.pool_size"].startswith("found 1, expected")


def test_backups_of_files_beside_a_database_are_a_mistake(tmp_path):
    found = mistakes(tmp_path, f'[store]\nurl = "{URL}"\n[backup]\nfolder = "copies"')
    assert "use the backups of your database, such as pg_dump" in found["line 3, backup"]
    assert load_config(tmp_path / "config.toml", references=False).config.backup is not None


def test_a_config_that_was_found_names_its_database_without_the_password():
    powers = powers_of(tomllib.loads(f'[store]\nurl = "{URL}"'))
    assert powers == [Power("address", "the database parley at db.example.com:5432")]
    hidden = powers_of({"store": {"url": "postgresql://u:pass/word@db/x"}})
    assert hidden == [Power("address", "a database")]
    assert powers_of({"store": {"url_env": "URL"}}) == [Power("variable", "URL")]


def test_another_database_is_for_the_next_start_and_is_not_shown():
    before = Config()
    after = Config.model_validate({"store": {"url": URL, "pool_size": 4}})
    assert changed_settings(before, after) == ([], ["store.pool_size", "store.url"])
    assert changes(before, after) == [
        "~ store.pool_size = 8 -> 4  (at the next start)",
        "~ store.url = null -> (secret)  (at the next start)",
    ]


def test_without_secrets_the_address_need_not_be_there(tmp_path):
    (tmp_path / "config.toml").write_text('[store]\nurl_env = "MISSING"')
    loaded = load_config(tmp_path / "config.toml", secrets=False)
    assert loaded.config.store == StoreConfig()
