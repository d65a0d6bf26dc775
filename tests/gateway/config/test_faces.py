"""`[faces]`: what may stand there, and what it says."""

import os
from pathlib import Path

import pytest

from gateway.app.assemble import access_of
from gateway.app.load import load_config
from gateway.config.faces import LARGEST
from gateway.config.problems import ConfigError
from gateway.faces import drawn

TEAMS = """
[models.main]
provider = "openai"
model = "gpt-4o"
api_key = "k"
[teams.inner]
type = "round_robin"
agents = { writer = {}, editor = {} }
[teams.support]
type = "round_robin"
participants = ["triage", "inner"]
agents = { triage = {} }
[teams.built]
type = "demo"
"""


def mistakes(folder: Path, text: str) -> list[tuple[str, str]]:
    (folder / "config.toml").write_text(TEAMS + text)
    try:
        load_config(folder / "config.toml")
    except ConfigError as error:
        return [(".".join(map(str, each.path)), each.text) for each in error.problems]
    return []


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("[faces.support.triage]\nemoji = 'an owl'", "emoji", "expected an emoji, or a name"),
        ("[faces.support.triage]\navatar = 'no.png'", "avatar", "No such file"),
        ("[faces.support.triage]\navatar = 'a.txt'", "avatar", "a PNG of at most 256 kB"),
        ("[faces.support.triage]\navatar = 'big.png'", "avatar", "a PNG of at most 256 kB"),
        ("[faces.support.triage]\navatar = 'pipe'", "avatar", "it is a pipe, not a file"),
        ("[faces.support.triage]\navatar = '.'", "avatar", "it is a folder, not a file"),
        ("[faces.support.triage]\navatar = 'http://a.example/b.png'", "avatar", "can't be read"),
        (f"[faces.support.triage]\nname = '{'a' * 81}'", "name", "80"),
    ],
)
def test_a_mistake_is_told_at_its_place(tmp_path: Path, text: str, place: str, said: str) -> None:
    (tmp_path / "a.txt").write_text("no picture")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "big.png").write_bytes(drawn("x") + b"\0" * LARGEST)
    ((path, found),) = mistakes(tmp_path, text)
    assert path.endswith(place)
    assert said in found


def test_faces_of_a_team_hold_for_the_teams_inside_it(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(drawn("x"))
    text = """
    [faces.support.triage]
    emoji = ":owl:"
    avatar = "a.png"
    [faces.inner.writer]
    name = "Writer for you"
    avatar = "https://a.example/w.png"
    [faces.inner.editor]
    emoji = "bee"
    [faces.support.editor]
    emoji = "🦊"
    [faces.built.anybody]
    name = "Concierge"
    """
    assert mistakes(tmp_path, text) == []
    access = access_of(load_config(tmp_path / "config.toml").config)
    faces = access.faces_of("support")
    assert faces.names == {"writer": "Writer for you"}
    assert (faces.face("triage").emoji, faces.face("triage").picture) == ("owl", drawn("x"))
    assert faces.face("Writer for you").address == "https://a.example/w.png"
    assert [each.face("editor").emoji for each in (faces, access.faces_of("inner"))] == [
        "fox_face",
        "bee",
    ]
    assert access.faces_of("built").names == {"anybody": "Concierge"}
    assert access.faces_of("elsewhere").names == {}
    assert {face.picture for face in access.faces} == {b"", drawn("x")}
