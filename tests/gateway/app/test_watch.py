"""A watched config: changes are taken once they rest, mistakes are told."""

import os
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import pytest

from gateway.app.assemble import gateway_of, team_factory
from gateway.app.load import load_config
from gateway.app.reload import Reloader
from gateway.app.watch import LOOKS_WITHOUT, NOTHING_TO_WATCH, ConfigWatch, allow_all, watching
from gateway.errors import AccessDenied
from gateway.events import MessageFinished
from gateway.gateway import Gateway
from tests.fakes.new_store import new_store
from tests.gateway.scripted import of, turn

pytestmark = pytest.mark.usefixtures("fresh_imports")

PARTS = """
from pathlib import Path
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.models.replay import ReplayChatCompletionClient as Replies
from words import WORD


def solo(prompt):
    said = f"{WORD} {Path(__file__).with_name(prompt).read_text()}"
    return RoundRobinGroupChat([AssistantAgent("a", Replies([said] * 9))], max_turns=1)
"""
CONFIG = """
store = { folder = "store" }
[teams.solo]
factory = "parts:solo"
options = { prompt = "prompt.md" }
"""


@dataclass
class Watched:
    """A running gateway, and a watch that the test lets look."""

    folder: Path
    gateway: Gateway
    watch: ConfigWatch
    told: list[tuple[str, str]] = field(default_factory=list)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    async def look(self, times: int = 2) -> list[str]:
        """Look so often: two see a change and that it rests."""
        self.told.clear()
        for _ in range(times):
            await self.watch.look()
        return [text for text, _ in self.told]

    async def answer(self) -> str:
        thread = (await self.gateway.client.create_thread()).id
        return of(MessageFinished, await turn(self.gateway, thread, "hi"))[0].text


def prepare(folder: Path) -> None:
    (folder / "parts.py").write_text(PARTS)
    (folder / "words.py").write_text("WORD = 'one'\n")
    (folder / "prompt.md").write_text("Hi.")
    (folder / "config.toml").write_text(CONFIG)


@asynccontextmanager
async def watched(
    folder: Path, meanwhile: Callable[[], None] = lambda: None
) -> AsyncGenerator[Watched]:
    """A watch whose reloads are checked while something else happens."""
    prepare(folder)
    loaded = load_config(folder / "config.toml")
    store = new_store(folder / "store")
    teams = team_factory(loaded, store.folder)
    told: list[tuple[str, str]] = []

    async def check(*_: object) -> None:
        meanwhile()

    async with gateway_of(loaded, store, teams) as gateway:
        reloader = Reloader(gateway, loaded, teams, check)
        watch = ConfigWatch(reloader, lambda *each: told.append(each), allow_all)
        yield Watched(folder, gateway, watch, told)
    await reloader.aclose()


@pytest.mark.chaos
async def test_changes_are_taken_at_the_next_turn_with_one_line_each(tmp_path):
    async with watched(tmp_path) as here:
        assert (await here.answer(), await here.look()) == ("one Hi.", [])

        here.write("words.py", "WORD = 'two'\n")  # as long as before, in the same second
        assert await here.look(1) == []  # it may still be written
        assert await here.look(1) == ["words.py changed; taken from the next turn on."]
        assert await here.answer() == "two Hi."

        here.write("prompt.md", "Ho.")
        here.write("words.py", "WORD = 'ten'\n")
        expected = "prompt.md and words.py changed; taken from the next turn on."
        assert await here.look(5) == [expected]
        assert await here.answer() == "ten Ho."

        here.write("config.toml", CONFIG + "description = 'Greets'\n[logging]\nlevel = 'debug'\n")
        assert await here.look() == [
            "config.toml changed: teams.solo.description; taken from the next turn on, "
            "logging.level at the next start."
        ]
        here.write("config.toml", CONFIG + "description = 'Greets'\n[logging]\nlevel = 'error'\n")
        assert await here.look() == ["config.toml changed: logging.level; taken at the next start."]
        os.utime(tmp_path / "words.py")  # saved as it was
        assert await here.look(3) == []


async def test_a_broken_version_is_told_once_and_the_last_good_one_goes_on(tmp_path):
    async with watched(tmp_path) as here:
        here.write("config.toml", "colour = 'red'\n" + CONFIG)
        (told,) = await here.look(5)
        assert told.splitlines()[0] == (
            "config.toml changed and can't be used; the last good version stays in use."
        )
        assert "line 1, colour" in told
        assert here.told[0][1] == "error"
        assert await here.answer() == "one Hi."
        here.write("config.toml", CONFIG)
        assert await here.look(3) == ["config.toml changed back to the version in use."]

        here.write("words.py", "WORD = \n")
        (told,) = await here.look(5)
        assert "SyntaxError: invalid syntax (words.py, line 1)" in told
        assert await here.answer() == "one Hi."
        here.write("words.py", "WORD = 'two'\n")
        assert await here.look() == ["words.py changed; taken from the next turn on."]
        assert await here.answer() == "two Hi."


async def test_a_file_that_an_editor_replaces_is_never_missing(tmp_path):
    async with watched(tmp_path) as here:
        (tmp_path / "config.toml").unlink()
        assert await here.look(LOOKS_WITHOUT) == []
        (tmp_path / ".new").write_text(CONFIG + "description = 'Greets'\n")
        (tmp_path / ".new").replace(tmp_path / "config.toml")
        assert await here.look() == [
            "config.toml changed: teams.solo.description; taken from the next turn on."
        ]
        (tmp_path / "config.toml").unlink()
        (told,) = await here.look(LOOKS_WITHOUT + 2)
        assert "cannot read it: No such file or directory" in told


async def test_a_file_that_a_new_version_names_is_waited_for(tmp_path):
    async with watched(tmp_path) as here:
        here.write("config.toml", CONFIG.replace("parts:", "others:"))
        (told,) = await here.look()
        assert "there is no module 'others'" in told
        here.write("others.py", PARTS.replace("WORD}", "WORD}!"))
        (told,) = await here.look()
        assert told == (
            "config.toml and others.py changed: teams.solo.factory; taken from the next turn on."
        )
        assert await here.answer() == "one! Hi."
        here.write("others.py", PARTS)
        assert await here.look() == ["others.py changed; taken from the next turn on."]


async def test_a_file_that_changes_while_the_config_that_names_it_is_read_is_used(tmp_path):
    named = tmp_path / "other.md"
    changes = iter(["Ho."])
    async with watched(tmp_path, lambda: _write_next(named, changes)) as here:
        here.write("other.md", "Hi.")
        here.write("config.toml", CONFIG.replace("prompt.md", "other.md"))
        (told,) = await here.look()
        assert told.startswith("config.toml changed: teams.solo.options")
        assert named.read_text() == "Ho."
        assert await here.look() == ["other.md changed; taken from the next turn on."]
        assert await here.look(3) == []


def _write_next(file: Path, texts: Iterator[str]) -> None:
    for text in islice(texts, 1):
        file.write_text(text)


async def test_what_may_not_be_used_is_refused_before_anything_is_imported(tmp_path):
    prepare(tmp_path)
    loaded = load_config(tmp_path / "config.toml")
    store = new_store(tmp_path / "store")
    teams = team_factory(loaded, store.folder)
    told: list[str] = []

    async def check(*_: object) -> None:
        pass

    def refuse() -> None:
        raise AccessDenied("Nobody has agreed to it.")

    async with gateway_of(loaded, store, teams) as gateway:
        watch = ConfigWatch(
            Reloader(gateway, loaded, teams, check), lambda text, _: told.append(text), refuse
        )
        (tmp_path / "words.py").write_text("raise SystemExit('imported')\n")
        await watch.look()
        await watch.look()
    assert told[0].endswith("Nobody has agreed to it.")
    await teams.aclose()


async def test_the_built_in_config_is_nothing_to_watch(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    loaded = load_config()
    store = new_store(tmp_path / "store")
    teams = team_factory(loaded, store.folder)
    told: list[tuple[str, str]] = []

    async def check(*_: object) -> None:
        pass

    async with gateway_of(loaded, store, teams) as gateway:
        reloader = Reloader(gateway, loaded, teams, check)
        async with watching(reloader, lambda *each: told.append(each), allow_all):
            assert told == [(NOTHING_TO_WATCH, "warning")]
    await teams.aclose()
