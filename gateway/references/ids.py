"""Ids in routes and policies, against the forms of their platforms."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gateway.base.suggest import did_you_mean
from gateway.config.policies import ASKER, OPERATORS
from gateway.config.problems import Problem
from gateway.config.root import Config
from gateway.config.routes import ANYWHERE, MEMBERS, Route
from gateway.config.table import IdForm
from gateway.config.toml import KeyPath
from gateway.references.routes import PLACES, Numbered, Platforms

EVERYBODY = frozenset({"*", "all", "any", "anybody", "anyone", "everybody", "everyone", "member"})
EVERYWHERE = frozenset({"all", "any", "anywhere", "everywhere", "**"})

# Ids of examples, and what stands where an id is to be filled in.
_PLACEHOLDER = re.compile(
    r"[A-Z]?(?:0123(?:ABCD|456789)|1234567890\d*|X{3,}|(\d)\1{7,})|0+", re.IGNORECASE
)


def check_ids(config: Config, platforms: Platforms) -> Iterator[Problem]:
    """Ids that can't be anybody's or any place's on their platform."""
    yield from check_route_ids(enumerate(config.routes), platforms)
    policies = config.policies
    for at, person in enumerate(policies.operators):
        yield from _of_policy(("policies", "operators", at), person, "users", platforms)
    for at, channel in enumerate(policies.approvals):
        yield from _of_policy(("policies", "approvals", at), channel, "channels", platforms)
    for tool, policy in policies.tools.named().items():
        for at, person in enumerate(policy.approvers):
            if person not in (ASKER, OPERATORS):
                path: KeyPath = ("policies", "tools", tool, "approvers", at)
                yield from _of_policy(path, person, "users", platforms)
        for at, case in enumerate(policy.cases):
            for n, role in enumerate(case.roles):
                place: KeyPath = ("policies", "tools", tool, "cases", at, "roles", n)
                yield from _of_case(place, role, platforms)


def _of_case(path: KeyPath, role: str, platforms: Platforms) -> Iterator[Problem]:
    """A role or group that no platform of the config has."""
    kinds = platforms.kinds.values()
    if role == OPERATORS or any(not kind.ids for kind in kinds):
        return
    forms = [kind.ids[key] for kind in kinds for key in ("roles", "groups") if key in kind.ids]
    if not any(_is_id(role, form) for form in forms):
        hint = did_you_mean(role, [OPERATORS]) or f"{OPERATORS!r} are the operators"
        expected = " or ".join(f"{form.what}, such as {form.example!r}" for form in forms)
        text = f"found {role!r}, expected {expected or 'no role: no platform here has any'}; {hint}"
        yield Problem(path=path, text=text)


def check_route_ids(routes: Numbered, platforms: Platforms) -> Iterator[Problem]:
    """Ids of routes that can't be anybody's or any place's."""
    for at, route in routes:
        kind = platforms.kind_of(route.adapter)
        for key in PLACES if kind and kind.ids else ():
            yield from _of_route(route, ("routes", at, key), key, platforms)


def _of_route(route: Route, path: KeyPath, key: str, platforms: Platforms) -> Iterator[Problem]:
    platform, kind = platforms.accounts[route.adapter], platforms.kind_of(route.adapter)
    form = kind and kind.ids.get(key)
    names: list[str] = getattr(route, key)
    if names and form is None:
        text = f"found {key}, expected users: {route.adapter} has no {key}, so no one matches"
        yield Problem(path=path, text=text)
        return
    for at, name in enumerate(names):
        if form is None or (key, name) in (("users", MEMBERS), ("channels", ANYWHERE)):
            continue
        if not _fits(name, platform, key, form):
            said = _found(name, form, form.example)
            yield Problem(path=(*path, at), text=f"{said}; {_advice(key, name, form)}")


def _fits(name: str, platform: str, key: str, form: IdForm) -> bool:
    """True for an id, also a whole one such as slack:T1:U1."""
    given, _, ident = name.rpartition(":")
    if given and (key not in ("users", "bots") or given.partition(":")[0] != platform):
        return False
    return _is_id(ident, form)


def _advice(key: str, name: str, form: IdForm) -> str:
    if key == "users" and name.lower() in EVERYBODY:
        return f'write "{MEMBERS}" for all members'
    if key == "channels" and name.lower() in EVERYWHERE:
        return f'write "{ANYWHERE}" for all channels of the bot'
    return _instead(name, form) or form.where


def _instead(name: str, form: IdForm) -> str:
    """The way for an id of another kind, or ""."""
    for beginning, way in form.others.items():
        if re.fullmatch(beginning + form.pattern.partition("]")[2], name):
            return way
    return ""


def _of_policy(path: KeyPath, name: str, key: str, platforms: Platforms) -> Iterator[Problem]:
    """A person or channel with its platform's name, as in slack:T1:U1."""
    account, *parts = name.split(":")
    platform = platforms.accounts.get(account, account)
    kind = platforms.kinds.get(platform)
    if kind is None or not kind.ids:
        return
    if key != "users":
        platform = account
    elif platform != account:
        text = f"found {name!r}, expected {platform}:...: people have their platform's name, to all"
        yield Problem(path=path, text=f"{text} accounts on it")
        return
    keys = (key,) if key == "users" and not kind.people_have_workspaces else ("workspace", key)
    fits = len(parts) == len(keys) and all(
        _is_id(part, kind.ids[each]) for each, part in zip(keys, parts, strict=True)
    )
    if not fits:
        example = ":".join([platform, *(kind.ids[each].example for each in keys)])
        form = kind.ids[key]
        yield Problem(path=path, text=f"{_found(name, form, example)}; {form.where}")


def _found(name: str, form: IdForm, example: str) -> str:
    """The mistake. A placeholder is not told to look like another one."""
    if any(_PLACEHOLDER.fullmatch(part) for part in name.split(":")):
        return f"found {name!r}, an example; put {form.what} there"
    return f"found {name!r}, expected {form.what}, such as {example!r}"


def _is_id(text: str, form: IdForm) -> bool:
    return bool(re.fullmatch(form.pattern, text)) and not _PLACEHOLDER.fullmatch(text)
