"""The tests' folders lie in memory only where they fit."""

from pathlib import Path

from tests.folders_in_memory import VARIABLE, use_where_possible


def chosen(memory: Path, room: int = 1, told: str | None = None) -> str | None:
    environment = {VARIABLE: told} if told else {}
    use_where_possible(environment, memory, room)
    return environment.get(VARIABLE)


def test_the_folders_lie_in_memory_where_there_is_room(tmp_path: Path):
    assert chosen(tmp_path) == str(tmp_path)
    assert chosen(tmp_path, room=2**60) is None
    assert chosen(tmp_path / "nowhere") is None


def test_a_place_that_was_chosen_is_kept(tmp_path: Path):
    assert chosen(tmp_path, told="/elsewhere") == "/elsewhere"
