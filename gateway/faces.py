"""Faces of agents on chat platforms: their names, emoji and pictures.

A platform's own look of them (an address, an emoji that it was given) is its adapter's.
"""

from __future__ import annotations

import colorsys
import hashlib
import struct
import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from types import MappingProxyType

from gateway.values import value

_EMOJI = (
    "fox_face=🦊 owl=🦉 bee=🐝 octopus=🐙 penguin=🐧 koala=🐨 lion_face=🦁 frog=🐸 unicorn_face=🦄 "
    "whale=🐳 turtle=🐢 panda_face=🐼 crab=🦀 elephant=🐘 parrot=🦜 hedgehog=🦔 tiger=🐯 "
    "butterfly=🦋 dolphin=🐬 wolf=🐺 flamingo=🦩 otter=🦦 snail=🐌 rabbit=🐰 zebra_face=🦓 "
    "shark=🦈 swan=🦢 sloth=🦥 cat=🐱 dog=🐶 bear=🐻 mouse=🐭 robot_face=🤖 rocket=🚀 compass=🧭 "
    "telescope=🔭 books=📚 memo=📝 mag=🔍 wrench=🔧 hammer=🔨 bulb=💡 key=🔑 moneybag=💰 art=🎨 "
    "calendar=📅 package=📦 truck=🚚 bug=🐛 lock=🔒 star=⭐ herb=🌿 cactus=🌵 sunflower=🌻 "
    "chart_with_upwards_trend=📈 bank=🏦 hospital=🏥 test_tube=🧪 microscope=🔬 computer=💻 "
    "bookmark=🔖 email=📧 bell=🔔"
)
EMOJI: dict[str, str] = {
    name: it for name, _, it in (each.partition("=") for each in _EMOJI.split())
}
"""Emoji by their names at Slack, as emoji-data of iamcal lists them ("short_name")."""
DEFAULTS = tuple(EMOJI)[:32]
"""Those of agents that have none of their own: animals."""

CELLS, CELL, SIDE = 5, 20, 128
"""Cells of a drawn picture in a row, and the pixels of a cell and of a side."""


@value
class Face:
    """The look of an agent: name, emoji, and maybe a picture.

    `emoji` is a name at Slack, and `character` the same; "" where only the other is known.
    `address` is that of a picture elsewhere, `picture` a PNG of the operator's.
    """

    name: str
    emoji: str
    character: str
    address: str = ""
    picture: bytes = field(default=b"", repr=False)

    @property
    def picture_or_drawn(self) -> bytes:
        """The operator's picture, or a drawn one."""
        return self.picture or drawn(self.name)

    def in_words(self, mark: str, *, address: bool, picture: bool, draws: bool, needs: str) -> str:
        """The look: a picture where the platform shows it, or the mark.

        There, a picture of the operator's `needs` a setting ("" if the mark shows it).
        """
        if self.address and address:
            return f"{self.name} with the picture at {self.address}"
        if (self.picture and picture) or draws:
            return f"{self.name} with its picture{'' if self.picture else ', which is drawn'}"
        lacks = needs and (self.address or self.picture)
        return f"{mark} {self.name}{f' (its picture needs {needs})' if lacks else ''}"


@value
class GivenFace:
    """The operator's word about a face; "" and b"" for none."""

    name: str = ""
    emoji: str = ""
    address: str = ""
    picture: bytes = field(default=b"", repr=False)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def _usual(agent: str, emoji: Collection[str]) -> str:
    return [*emoji][_digest(agent)[0] % len(emoji)]


def _spread(agents: Iterable[str], emoji: Collection[str]) -> dict[str, str]:
    """An emoji for each agent, different ones while there are enough."""
    found: dict[str, str] = {}
    for agent in agents:
        found[agent] = _usual(
            agent, [each for each in emoji if each not in found.values()] or emoji
        )
    return found


class TeamFaces:
    """The faces of a team's agents; every name has one.

    `agents` are those that are known: their emoji differ, as far as there are enough.
    """

    def __init__(
        self,
        given: Mapping[str, GivenFace] = MappingProxyType({}),
        agents: Collection[str] = (),
    ) -> None:
        self._given = given
        self.names = {agent: each.name for agent, each in given.items() if each.name}
        """Names for people, where they are not the agents' own."""
        self.agents = tuple(dict.fromkeys((*agents, *given)))
        taken = {each.emoji for each in given.values()}
        self._defaults = _spread(
            (agent for agent in self.agents if not self._of(agent).emoji),
            [each for each in DEFAULTS if not taken & {each, EMOJI[each]}],
        )
        self._agents = {name: agent for agent, name in self.names.items()}

    def _of(self, agent: str) -> GivenFace:
        return self._given.get(agent) or GivenFace()

    def face(self, name: str) -> Face:
        """The face that goes with a name for people."""
        agent = self._agents.get(name, name)
        given, usual = self._of(agent), self._defaults.get(agent) or _usual(agent, DEFAULTS)
        emoji = given.emoji or usual
        known = next((each for each, it in EMOJI.items() if emoji in (each, it)), "")
        is_name = emoji.isascii()
        return Face(
            name=name,
            emoji=known or (emoji if is_name else usual),
            character=EMOJI[known] if known else EMOJI[usual] if is_name else emoji,
            address=given.address,
            picture=given.picture,
        )

    def faces(self) -> list[Face]:
        """The faces of all agents that are known."""
        return [self.face(self.names.get(agent, agent)) for agent in self.agents]


NO_FACES = TeamFaces()
"""Faces of a team of which nothing is known."""


def drawn(name: str) -> bytes:
    """A picture for a name, always the same: mirrored cells, as PNG."""
    seed = _digest(name)
    paint = colorsys.hls_to_rgb(seed[0] / 256, 0.45, 0.6)
    palette = bytes((245, 245, 245, *(int(255 * each) for each in paint)))
    edge = (SIDE - CELLS * CELL) // 2
    rows = bytearray()
    for y in range(SIDE):
        row = bytearray(SIDE + 1)  # the first byte: no filter
        if 0 <= (line := (y - edge) // CELL) < CELLS:
            for column in range(CELLS):
                mirrored = min(column, CELLS - 1 - column)
                shade = seed[1 + line * CELLS + mirrored] & 1 or (line, mirrored) == (2, 2)
                at = 1 + edge + column * CELL
                row[at : at + CELL] = bytes([shade]) * CELL
        rows += row
    head = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", head), (b"PLTE", palette), (b"IDAT", zlib.compress(bytes(rows), 9)))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in (*parts, (b"IEND", b""))
    )
