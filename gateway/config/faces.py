"""`[faces.TEAM.AGENT]`: names, emoji and pictures of agents on chat platforms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from gateway.base.paths import read_ordinary
from gateway.config.conversable import ConversableTeam
from gateway.config.nesting import with_inner
from gateway.config.teams import GroupTeam, TeamConfig
from gateway.faces import GivenFace, TeamFaces
from teams.kinds import Section, config_folder, setting_error

LARGEST = 256_000
"""Bytes of a picture: Discord takes 256 KiB for an emoji."""

_NAME = re.compile(r":?([a-z0-9_+'-]{1,100}):?")
_PNG = b"\x89PNG\r\n\x1a\n"


class FaceConfig(Section):
    """The look of an agent on chat platforms."""

    name: str = Field(default="", max_length=80)
    """Its name there; the agent's own if not given."""

    emoji: str = Field(default="", max_length=100)
    """An emoji, or the name of one such as ":owl:"; Slack knows those of its workspace, too."""

    avatar: str = Field(default="", max_length=1000)
    """The https address of a picture, or a PNG file of at most 256 kB."""

    _picture: bytes = PrivateAttr(default=b"")

    @field_validator("emoji")
    @classmethod
    def _check_emoji(cls, text: str) -> str:
        if found := _NAME.fullmatch(text):
            return found[1]
        if text.isascii() and text:
            raise ValueError(f"found {text!r}, expected an emoji, or a name such as ':owl:'")
        return text

    @model_validator(mode="after")
    def _read_picture(self, info: ValidationInfo) -> Self:
        if self.avatar and not self.address:
            path = config_folder(info) / Path(self.avatar).expanduser()
            try:
                self._picture, _ = read_ordinary(path, LARGEST)
            except OSError as error:
                raise setting_error("avatar", f"{path} can't be read: {error.strerror}") from error
            if not self._picture.startswith(_PNG):
                said = f"found {path}, expected a PNG of at most {LARGEST // 1000} kB"
                raise setting_error("avatar", said)
        return self

    @property
    def address(self) -> str:
        """The avatar, if it is an address."""
        parts = urlsplit(self.avatar)
        return self.avatar if parts.scheme == "https" and parts.netloc else ""

    @property
    def given(self) -> GivenFace:
        """The face, as far as it is said here."""
        return GivenFace(
            name=self.name, emoji=self.emoji, address=self.address, picture=self._picture
        )


Faces = Mapping[str, Mapping[str, FaceConfig]]


def team_faces(faces: Faces, teams: Mapping[str, TeamConfig], team: str) -> TeamFaces:
    """The faces of a team's agents, those of teams inside it included."""
    inner = [name for name, _ in with_inner(team, teams)]
    given = {
        agent: face.given for name in reversed(inner) for agent, face in faces.get(name, {}).items()
    }
    return TeamFaces(given, [*agents_of(teams, team)])


def agents_of(teams: Mapping[str, TeamConfig], team: str) -> Iterator[str]:
    """The described agents of a team and those inside it."""
    for _, each in with_inner(team, teams):
        match each:
            case GroupTeam():
                yield from each.agents
            case ConversableTeam():
                yield from each.agents
            case _:
                pass
