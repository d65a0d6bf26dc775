"""The store that a config names, and commands for the other kind."""

import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.app.assemble import any_gateway, store_of
from gateway.app.load import load_config
from gateway.app.stores import NEEDS_EXTRA
from gateway.base.exit_codes import ExitCode
from gateway.cli import main
from gateway.errors import GatewayError, StoreInUse
from gateway.store.sqlite.store import SqliteStore

URL = "postgresql://somebody:pass-word@db.example.com:6432/threads"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A config with a database, in the current folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "config.toml"
    path.write_text(f"[store]\nfolder = 'store'\nurl = '{URL}'\n")
    return path


def test_without_an_address_the_store_is_a_file(tmp_path):
    (tmp_path / "config.toml").write_text("store.folder = 'store'")
    store = store_of(load_config(tmp_path / "config.toml"))
    assert isinstance(store, SqliteStore)
    assert store.folder == tmp_path / "store"


def test_a_database_needs_an_extra(config, monkeypatch):
    loaded = load_config(config)
    monkeypatch.setitem(sys.modules, "gateway.store.postgres.store", None)  # as without psycopg
    with pytest.raises(GatewayError) as told:
        store_of(loaded)
    assert str(told.value) == NEEDS_EXTRA
    assert "pip install 'parley-gateway[postgres]'" in NEEDS_EXTRA


async def test_an_owner_that_can_not_be_asked_from_here_is_named(tmp_path):
    (tmp_path / "config.toml").write_text("store.folder = 'store'")
    loaded = load_config(tmp_path / "config.toml")
    async with store_of(loaded).own():  # and no socket, as if it were on another machine
        with pytest.raises(StoreInUse, match=f"is in use by process {os.getpid()}"):
            async with any_gateway(loaded, store_of(loaded)):
                pass


SERVER = "--host=db.example.com --port=6432 --username=USER --dbname=threads"
RESTORE = "pg_restore --clean --if-exists --single-transaction"
MARK = f'psql {SERVER} --command="INSERT INTO marks '


@pytest.mark.parametrize(
    ("command", "line", "then"),
    [
        ("backup /one.dump", f"pg_dump --format=custom --file=/one.dump {SERVER}", "\nUSER is"),
        ("restore /one.dump", f"{RESTORE} {SERVER} /one.dump", f"    {MARK}"),
        ("repair", f"{RESTORE} {SERVER} parley.dump", f"    {MARK}"),
    ],
)
def test_a_command_for_files_says_what_does_it_with_a_database(config, command, line, then):
    result = CliRunner().invoke(main, ["store", *command.split(), "--config", str(config)])
    assert result.exit_code == ExitCode.USAGE
    assert f"\n\n    {line}\n{then}" in result.output
    assert "PostgreSQL database threads at db.example.com:6432" in result.output
    assert "pass-word" not in result.output
    assert "somebody" not in result.output
    assert not (config.parent / "store").exists()
