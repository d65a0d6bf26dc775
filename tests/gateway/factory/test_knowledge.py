"""Knowledge of config.toml in threads: shared, and foreign text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

import teams.memory.knowledge._memory as memory_module
from gateway.app.assemble import own_gateway, store_of, team_factory
from gateway.app.check import check_config, dump_team
from gateway.app.load import LoadedConfig, load_config
from gateway.base.redaction import REDACTION
from gateway.config.problems import ConfigError
from gateway.events import InputRequested, MessageFinished
from gateway.factory.knowledge import KnowledgeBases
from tests.fakes.openai_script import Call, Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.gateway.scripted import of, turn

CONFIG = """
[store]
folder = "store"

[models.m]
provider = "openai"
model = "gpt-4o"
base_url = "{url}"
api_key = "key"

[knowledge.docs]
folder = "docs"
files = ["*.md"]

[teams.desk]
type = "round_robin"
max_turns = 1

[teams.desk.agents.clerk]
knowledge = ["docs"]
tools = ["desk_tools:order"]

[policies.tools]
order = "allow"
"""
TOOLS = '''
def order(item: str) -> str:
    """Order an item."""
    return f"ordered {item}"
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(memory_module, "WAIT_SECONDS", 8.0)  # on a busy machine, too
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/leave.md").write_text("# Leave\n\nStaff have 28 days of leave.\n")
    (tmp_path / "docs/notes.txt").write_text("not among the files")
    (tmp_path / "desk_tools.py").write_text(TOOLS)
    return tmp_path


def config(folder: Path, url: str = "http://127.0.0.1:1/v1", **changes: str) -> LoadedConfig:
    text = CONFIG.format(url=url)
    for before, after in changes.items():
        text = text.replace(before, after)
    (folder / "config.toml").write_text(text)
    return load_config(folder / "config.toml")


def shown(request: Any) -> str:
    return json.dumps(request.body["messages"], ensure_ascii=False)


@pytest.mark.usefixtures("fresh_imports")
async def test_threads_are_told_what_is_found_and_it_counts_as_foreign_text(folder: Path):
    async with FakeOpenAI() as model:
        loaded = config(folder, model.url)
        call = Reply(calls=[Call(name="order", arguments={"item": "tea"})])
        model.script(Reply(text="28 days."), Reply(text="28 days."), call)
        async with own_gateway(loaded, store_of(loaded)) as gateway:
            first = (await gateway.client.create_thread()).id
            events = await turn(gateway, first, "How many days of leave?")
            assert [each.text for each in of(MessageFinished, events)] == ["28 days."]
            assert "leave.md:1\\n# Leave" in shown(model.requests[0])
            other = (await gateway.client.create_thread()).id
            await turn(gateway, other, "Leave, please.")
            assert "leave.md:1\\n# Leave" in shown(model.requests[1])
            # Whoever wrote the file may have made this call: it is asked, though allowed.
            events = await turn(gateway, first, "Order some tea.")
            assert of(InputRequested, events)
            index = folder / "store/knowledge/docs.sqlite"
            assert index.stat().st_mode & 0o077 == 0
            assert index.parent.stat().st_mode & 0o077 == 0


async def test_tokens_and_known_secrets_are_not_kept(folder: Path):
    REDACTION.add(["Tr0ub4dor&3-horse"])
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END RSA PRIVATE KEY-----"
    text = f"leave: use sk-proj-abc\u200bdefghijkl or Tr0ub4dor&3-horse here\n{key}\n"
    (folder / "docs/leave.md").write_text(text)
    bases = KnowledgeBases(config(folder).config, folder / "index")
    memory = bases.memory("docs")
    await memory.index()
    [found] = (await memory.query("leave")).results
    assert "use [secret] or [secret] here" in str(found.content)
    await bases.aclose()
    kept = (folder / "index/docs.sqlite").read_bytes()
    for part in (b"defghijkl", b"Tr0ub4dor", b"MIIEvQ"):
        assert part not in kept


async def test_threads_share_one_memory_and_another_program_gets_its_own(folder: Path):
    loaded = config(folder)
    teams = team_factory(loaded, folder / "store")
    built = [await teams.build("desk", workdir=folder) for _ in range(2)]
    assert all(each.holds.closes == () for each in built)  # one's end is not the other's
    memories = [cast("Any", each.team)._participants[0]._memory for each in built]
    assert memories[0] == memories[1] == [teams.knowledge.memory("docs")]
    await teams.aclose()
    component = json.loads((await dump_team(loaded, "desk")).text)
    [memory] = component["config"]["participants"][0]["config"]["memory"]
    assert memory["provider"] == "teams.memory.knowledge.KnowledgeMemory"
    assert memory["config"].get("index") is None
    assert memory["config"]["folder"] == str(folder / "docs")


@pytest.mark.usefixtures("fresh_imports")
async def test_check_counts_files_and_names_a_folder_that_is_not_there(folder: Path):
    found = await check_config(config(folder), offline=True)
    [line] = [each for each in found if each.kind == "knowledge"]
    assert (line.name, line.good, line.text) == ("docs", True, "1 files, 0 addresses")
    [note] = [each for each in found if each.text.startswith("note: ") and each.kind == "team"]
    assert "memory" in note.text
    missing = config(folder, **{'folder = "docs"': 'folder = "dogs"'})
    found = await check_config(missing, offline=True)
    [line] = [each for each in found if each.kind == "knowledge"]
    assert not line.good
    assert line.text == f"cannot read {folder / 'dogs'}: No such file or directory"
    assert not (folder / "store/knowledge").exists()


@pytest.mark.parametrize(
    ("found", "folder_name"),
    [("the folder of the config, whose", "."), ("a folder of the store or its backups", "data")],
)
def test_a_folder_with_the_config_or_the_store_is_refused(
    folder: Path, found: str, folder_name: str
):
    changed = {
        'folder = "docs"': f'folder = "{folder_name}"',
        'folder = "store"': 'folder = "data/s"',
    }
    with pytest.raises(ConfigError, match=f"found {found}"):
        config(folder, **changed)
