"""A chosen theme is kept until the config names another."""

from pathlib import Path

import pytest

from adapters.terminal.app import ChatApp
from adapters.terminal.chosen_theme import ChosenTheme
from adapters.terminal.settings import Settings
from tests.adapters.terminal.running import chatting
from tests.fakes.scripted_client import ScriptedClient

pytestmark = pytest.mark.timeout(60)


async def test_a_chosen_theme_is_there_after_a_restart(tmp_path: Path):
    async with chatting(ScriptedClient(), tmp_path, new=True) as chat:
        assert chat.app.theme == "parley-dark"
        chat.app.theme = "nord"  # as the palette does
        await chat.until((tmp_path / "theme").exists)

    def begun_with(configured: str) -> str:
        return ChatApp(Settings(data_dir=tmp_path), theme=configured).theme

    assert begun_with("") == "nord"
    assert begun_with("parley-light") == "parley-light", "the config was changed since"
    assert (tmp_path / "theme").stat().st_mode & 0o077 == 0


def test_a_choice_that_cannot_be_read_or_written_is_none(tmp_path: Path):
    (tmp_path / "theme").mkdir()
    chosen = ChosenTheme(tmp_path / "theme", "")
    chosen.keep("nord")
    assert chosen.read() == ""
    settings = Settings(data_dir=tmp_path / "other")
    settings.data_dir.mkdir()
    (settings.data_dir / "theme").write_bytes(b"\xff\x1b]0;x\x07\n\n")
    assert ChatApp(settings).theme == "parley-dark"
