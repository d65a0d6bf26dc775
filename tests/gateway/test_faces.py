"""Faces of agents: names, emoji that differ, and pictures that are drawn."""

import zlib

import pytest

from gateway.content.images import image_head
from gateway.faces import DEFAULTS, EMOJI, NO_FACES, GivenFace, TeamFaces, drawn


def test_agents_of_a_team_have_different_emoji_always_the_same() -> None:
    names = [f"agent_{n}" for n in range(len(DEFAULTS))]
    faces = TeamFaces(agents=names).faces()
    assert [face.name for face in faces] == names
    assert {face.emoji for face in faces} == {*DEFAULTS}
    assert faces == TeamFaces(agents=names).faces()
    assert len(TeamFaces(agents=[*names, "one", "more"]).faces()) == len(names) + 2


def test_nobody_gets_the_emoji_that_another_was_given() -> None:
    given = {name: GivenFace(emoji=name) for name in DEFAULTS[1:]}
    assert TeamFaces(given, ["left"]).face("left").emoji == DEFAULTS[0]


@pytest.mark.parametrize(
    ("emoji", "name", "character"),
    [
        ("owl", "owl", "🦉"),
        ("🦉", "owl", "🦉"),
        ("partyparrot", "partyparrot", None),
        ("🪿", None, "🪿"),
        ("", None, None),
    ],
)
def test_an_emoji_has_a_name_and_a_character_or_the_usual_one(emoji, name, character) -> None:
    usual = TeamFaces(agents=["ann"]).face("ann")
    face = TeamFaces({"ann": GivenFace(emoji=emoji)}).face("ann")
    assert face.emoji == (name or usual.emoji)
    assert face.character == (character or usual.character)


def test_a_face_is_found_by_the_name_for_people() -> None:
    faces = TeamFaces({"ann": GivenFace(name="Ann Lee", emoji="owl", picture=b"x")}, ["ann", "bob"])
    assert faces.names == {"ann": "Ann Lee"}
    assert [face.name for face in faces.faces()] == ["Ann Lee", "bob"]
    assert (faces.face("Ann Lee").emoji, faces.face("Ann Lee").picture) == ("owl", b"x")
    assert NO_FACES.face("Ann Lee").emoji in EMOJI


def test_a_drawn_picture_is_a_png_of_its_name() -> None:
    picture = drawn("ann")
    head = image_head(picture)
    assert head is not None
    assert (head.media_type, head.width, head.height) == ("image/png", 128, 128)
    rows = zlib.decompress(picture[picture.index(b"IDAT") + 4 : -16])
    assert len(rows) == 128 * 129
    assert picture == drawn("ann") != drawn("bob")
