"""Routes: their names, open ones, and those that never hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from gateway.config.problems import Problem
from gateway.config.remains import Remains
from gateway.config.routes import ANYWHERE, MEMBERS, Route, listed
from gateway.config.table import AdapterSection
from gateway.config.toml import KeyPath
from gateway.references.lookup import Lookup, check_name
from gateway.values import value

PLACES = ("workspace", "channels", "users", "roles", "groups", "bots")
"""Keys of a route with ids."""

Numbered: TypeAlias = Iterable[tuple[int, Route]]
"""Routes with their numbers."""


@value
class Platforms:
    """Platforms in [adapters]: the types of their tables, and their accounts."""

    kinds: Mapping[str, type[AdapterSection]]
    accounts: Mapping[str, str]

    def kind_of(self, account: str) -> type[AdapterSection] | None:
        """The type of an account's table, if it is known."""
        return self.kinds.get(self.accounts.get(account, ""))


OPEN_ROUTE = (
    'found "members" of any server, expected guild = "ID of your server", or a list of ids, beside '
    "it: anybody can add the bot to a server of their own"
)


def incomplete_routes(remains: Remains) -> list[tuple[int, Route]]:
    """Routes that lack a part, with their numbers in the file."""
    return [(at, _draft(table)) for at, table in remains.removed_tables("routes")]


def _draft(table: Mapping[str, Any]) -> Route:
    known: dict[str, Any] = {"adapter": "", "team": ""}
    known |= {key: table[key] for key in known if isinstance(table.get(key), str)}
    for key in PLACES:
        given: Any = listed(table.get(key, table.get("guild") if key == "workspace" else None))
        if isinstance(given, list) and all(isinstance(each, str) for each in given):  # pyright: ignore[reportUnknownVariableType]
            known[key] = given
    return Route.model_construct(**known)


def check_route_names(routes: Numbered, lookup: Lookup) -> Iterator[Problem]:
    """Unknown platforms and teams."""
    adapters = lookup.names("adapters") or list(lookup.config.adapters)
    for at, route in routes:
        path: KeyPath = ("routes", at)
        yield from check_name((*path, "adapter"), route.adapter, adapters, "a key of [adapters]")
        yield from lookup.team((*path, "team"), route.team)
        for n, name in enumerate(route.teams):
            yield from lookup.team((*path, "teams", n), name)
        for n, name in enumerate(route.models):
            yield from lookup.model((*path, "models", n), name)


def open_routes(routes: Numbered, platforms: Platforms) -> Iterator[Problem]:
    """Routes for the members of any server, also of strangers."""
    for number, route in routes:
        platform = platforms.kind_of(route.adapter)
        strangers = platform is not None and platform.strangers_add_it
        if strangers and MEMBERS in route.users and not route.workspace:
            yield Problem(path=("routes", number, "users"), text=OPEN_ROUTE)


def hidden_routes(routes: Sequence[Route]) -> Iterator[tuple[int, int]]:
    """Numbers of routes that never hold, each with its cause's."""
    for at, route in enumerate(routes):
        before = (n for n, earlier in enumerate(routes[:at]) if _takes_all(earlier, route))
        if (hiding := next(before, None)) is not None:
            yield at, hiding


def _takes_all(earlier: Route, later: Route) -> bool:
    """True if the earlier route holds wherever the later one does."""
    return (
        earlier.adapter == later.adapter
        and _takes_places(earlier, later)
        and _takes_people(earlier, later)
    )


def _takes_places(earlier: Route, later: Route) -> bool:
    if earlier.workspace and not (later.workspace and {*later.workspace} <= {*earlier.workspace}):
        return False
    if later.dm and not earlier.dm:
        return False
    return ANYWHERE in earlier.channels or {*later.channels} <= {*earlier.channels}


def _takes_people(earlier: Route, later: Route) -> bool:
    """True if the earlier route is for all people of the later.

    Somebody who is named may be a guest or from outside.
    """
    wider = ("guests", "external", "pairing")
    if any(getattr(later, key) and not getattr(earlier, key) for key in wider):
        return False
    members = MEMBERS in earlier.users
    anybody = members and earlier.guests and earlier.external
    groups = {*later.roles, *later.groups}
    return (
        (anybody or _names_all(earlier.users, later.users))
        and (members or groups <= {*earlier.roles, *earlier.groups})
        and _names_all(earlier.bots, later.bots)
    )


def _names_all(earlier: Sequence[str], later: Sequence[str]) -> bool:
    """True if each later id is among the earlier ones."""
    return all({name, name.rpartition(":")[2]} & {*earlier} for name in later)
