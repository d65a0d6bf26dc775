"""Findings of `parley check` about the faces of agents, and their names."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator

from gateway.app.adapters import AdapterSettings
from gateway.app.findings import PROBE_SECONDS, Finding
from gateway.config.faces import team_faces
from gateway.config.root import Config
from gateway.content.look_alikes import looks_like
from gateway.errors import GatewayError
from gateway.faces import Face

TAKEN = (
    "{name!r} is also the name of the bot or of a member there: people could take the agent for "
    "them; give it another name in [faces.{team}]"
)
UNCHECKED = "whether people there have the names of agents was not checked: {why}"


async def check_faces(
    config: Config, adapters: Collection[AdapterSettings], *, offline: bool
) -> list[Finding]:
    """Each agent's look on each platform, and names that others have."""
    found: list[Finding] = []
    for settings in adapters:
        shown = [*_served_faces(config, settings.name)]
        for team, faces in shown:
            looks = "; ".join(map(settings.config.look_of, faces))
            found.append(
                Finding(kind="faces", name=settings.name, good=True, text=f"{team}: {looks}")
            )
        if settings.people_named is not None and shown and not offline:
            names = [face.name for _, faces in shown for face in faces]
            try:
                async with asyncio.timeout(PROBE_SECONDS):
                    people = {*map(looks_like, await settings.people_named(settings.config, names))}
            except GatewayError as error:
                found.append(_unchecked(settings.name, str(error)))
                continue
            except TimeoutError:
                found.append(_unchecked(settings.name, f"no answer in {PROBE_SECONDS:g} seconds"))
                continue
            found += [
                Finding(
                    kind="faces",
                    name=settings.name,
                    good=False,
                    text=TAKEN.format(name=face.name, team=team),
                )
                for team, faces in shown
                for face in faces
                if looks_like(face.name) in people
            ]
    return found


def _unchecked(account: str, why: str) -> Finding:
    return Finding(kind="faces", name=account, good=True, text=UNCHECKED.format(why=why))


def _served_faces(config: Config, account: str) -> Iterator[tuple[str, list[Face]]]:
    """The teams that answer on a platform, with their agents' faces."""
    routes = [route for route in config.routes if route.adapter == account]
    named = (name for route in routes for name in (route.team, *route.teams))
    for team in dict.fromkeys(map(config.team_name, named)):
        if faces := team_faces(config.faces, config.teams, team).faces():
            yield team, faces
