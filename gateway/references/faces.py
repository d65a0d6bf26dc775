"""Faces: their teams and agents, and names that somebody else has."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.config.faces import agents_of
from gateway.config.problems import Problem
from gateway.config.teams import ComponentTeam, DemoTeam, FactoryTeam
from gateway.content.look_alikes import looks_like
from gateway.references.lookup import Lookup, check_name

OF_PLATFORMS = frozenset(
    map(
        looks_like,
        ("slack", "slackbot", "discord", "clyde", "parley", "system", "everyone", "here"),
    )
)
"""Names that platforms have for themselves, by their looks."""


def check_faces(lookup: Lookup) -> Iterator[Problem]:
    """Faces of nobody, and names for people that others have."""
    config = lookup.config
    for team, faces in config.faces.items():
        yield from check_name(("faces", team), team, lookup.teams, "the name of a team")
        known = [*agents_of(config.teams, team)]
        opaque = isinstance(config.teams.get(team), ComponentTeam | DemoTeam | FactoryTeam)
        shown = {looks_like(agent): agent for agent in known if agent not in faces}
        for agent, face in faces.items():
            if known and not opaque:
                path = ("faces", team, agent)
                yield from check_name(path, agent, known, "the name of an agent")
            looks = looks_like(name := face.name or agent)
            if face.name and looks in OF_PLATFORMS:
                text = f"found {name!r}, which is a name of the platform's own; expected another"
                yield Problem(path=("faces", team, agent, "name"), text=text)
            elif (other := shown.setdefault(looks, agent)) != agent:
                text = f"found {name!r}, which is the name of {other} too; expected another"
                yield Problem(path=("faces", team, agent, "name"), text=text)
