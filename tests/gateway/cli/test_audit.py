"""`parley audit`, and the rows of commands that change something."""

import asyncio
import json
import os
from contextlib import redirect_stdout
from typing import cast

import pytest
from click.testing import CliRunner, Result
from pydantic import SecretStr

from gateway.access.pairing import draw_code
from gateway.app.stores import AnyStore
from gateway.base.exit_codes import ExitCode
from gateway.cli import main
from gateway.conversation import Author
from gateway.store.tokens import TokenStore, keys_of, new_key
from gateway.store.units import audit
from gateway.store.units.people import add_code
from tests.fakes.new_store import new_store
from tests.gateway.scripted import opened, solo

pytestmark = pytest.mark.usefixtures("fresh_imports")


def parley(*command: str) -> Result:
    return CliRunner().invoke(main, command)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a config and an empty store."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").write_text("store.folder = 'store'\npolicies.timezone = 'UTC'\n")
    new_store(tmp_path / "store")
    return tmp_path


def run(*commands: tuple[str, ...]) -> None:
    for command in commands:
        ran = parley(*command)
        assert (ran.exit_code, ran.stderr) == (0, ""), command


def actions(*options: str) -> list[str]:
    shown = parley("audit", *options)
    assert shown.exit_code == 0, shown.output
    return [json.loads(line)["action"] for line in shown.stdout.splitlines()]


def put(folder, *names: str) -> None:
    async def note() -> None:
        store = new_store(folder / "store")
        async with store.own():
            for name in names:
                await store.run(audit.note, name)

    asyncio.run(note())


def test_a_collector_goes_on_behind_the_last_position_that_it_has(folder):
    put(folder, "thread.muted", "thread.unmuted", "thread.left")
    first = json.loads(parley("audit", "--limit", "1").stdout)
    assert (first["action"], first["actor"]) == ("thread.muted", "local:operator")
    behind = ("--after", str(first["position"]))
    assert actions(*behind) == ["thread.unmuted", "thread.left"]
    assert actions(*behind, "--until", "2020-01-01") == []
    assert actions("--after", "9" * 30) == []
    assert actions(*behind, "--since", "2020-01-01T00:00Z") == ["thread.unmuted", "thread.left"]
    wrong = parley("audit", "--since", "soon")
    assert (wrong.exit_code, wrong.stderr) == (
        ExitCode.FAILED,
        "parley: 'soon' is no time such as 2026-07-01T17:30+02:00.\n",
    )


def test_without_a_store_nothing_was_done(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").write_text("store.folder = 'none'")
    assert actions() == []


async def test_it_works_beside_a_running_gateway_which_notes_what_commands_do(folder):
    async with opened(folder / "store", lambda: solo("yes")) as gateway:
        thread = (await gateway.client.create_thread(title="trip")).id
        for command in (
            ("sessions", "export", "trip"),
            ("backup", str(folder / "copy.db")),
            ("sessions", "delete", thread, "--yes"),
        ):
            ran = await asyncio.to_thread(parley, *command)
            assert (ran.exit_code, ran.stderr) == (0, "")
        found = await asyncio.to_thread(actions)
    assert found == [
        "gateway.started",
        "thread.created",
        "thread.exported",
        "store.backed_up",
        "thread.deleted",
    ]


def test_commands_note_what_they_do_where_no_gateway_runs(folder):
    key = new_key()
    (folder / "config.toml").write_text(f"[store]\nfolder = 'store'\nkeys = '{key}'\n")
    code = draw_code()

    async def prepare() -> None:
        async with opened(folder / "store", lambda: solo("yes")) as gateway:
            await gateway.client.create_thread(title="trip")
            store = cast("AnyStore", gateway.store)
            kept = code.kept(gateway._clock())
            await store.write(lambda c: add_code(c, Author(id="x:ann", name="Ann"), kept))
            tokens = TokenStore(store, keys_of(SecretStr(key)))
            await tokens.put("x:bot", SecretStr("t"))

    asyncio.run(prepare())
    run(
        ("sessions", "export", "trip"),
        ("store", "backup", "copy.db"),
        ("pair", code.text),
        ("pair", "--remove", "x:ann"),
        ("secrets", "rotate"),
        ("sessions", "delete", "trip", "--yes"),
        ("sessions", "delete", "--person", "x:ann", "--yes"),
    )
    before = ["gateway.started", "thread.created", "token.stored", "thread.exported"]
    assert actions() == [
        *before,
        *("store.backed_up", "pairing.let_in", "pairing.removed", "token.stored"),
        *("thread.deleted", "person.deleted"),
    ]
    run(("store", "restore", "copy.db"), ("pair", code.text))
    assert actions() == [*before, "store.restored", "pairing.let_in"]


def test_an_export_that_can_not_be_noted_is_written_all_the_same(folder):
    async def prepare() -> None:
        async with opened(folder / "store", lambda: solo("yes")) as gateway:
            await gateway.client.rename_thread((await gateway.client.create_thread()).id, "trip")

    asyncio.run(prepare())
    (folder / "store" / "lock").unlink()
    (folder / "store" / "lock").mkdir()
    exported = parley("sessions", "export", "trip")
    assert exported.exit_code == 0
    assert '"thread_renamed"' in exported.stdout
    assert "The audit does not have this export: " in exported.stderr


@pytest.mark.parametrize("options", [(), ("--follow",)])
def test_a_reader_that_leaves_ends_it_cleanly(folder, options):
    put(folder, "thread.muted")
    reader, writer = os.pipe()
    os.close(reader)
    with (
        open(writer, "w", encoding="utf-8") as out,
        redirect_stdout(out),
        pytest.raises(SystemExit) as ended,
    ):
        main(["audit", *options], prog_name="parley")
    assert ended.value.code == ExitCode.BROKEN_PIPE
