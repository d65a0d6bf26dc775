"""Tables of platforms, and what their texts may be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from string import Formatter
from types import MappingProxyType
from typing import ClassVar, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator

from gateway.base.suggest import did_you_mean
from gateway.faces import Face
from teams.kinds import Section

_HOST = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")


class IdForm(NamedTuple):
    """The form of a platform's ids of one kind."""

    what: str
    """The kind of id, such as "the id of a person"."""

    pattern: str
    """A regular expression that each of them matches."""

    example: str
    """An id of this form."""

    where: str
    """The place where people find it."""

    others: Mapping[str, str] = MappingProxyType({})
    """Advice for ids of other kinds, by how these begin."""


class AdapterSection(Section):
    """A table of [adapters]: one account on a platform."""

    platform: str = ""
    """The platform of an account with another name, such as "slack" in [adapters.support].

    Each account has threads, routes and limits of its own; a person is the same to all.
    """

    _account: str = ""

    @property
    def account(self) -> str:
        """Its name in [adapters]."""
        return self._account

    def named(self, account: str) -> Self:
        """The same settings under this name in [adapters]."""
        found = self.model_copy()
        found._account = account
        return found

    strangers_add_it: ClassVar[bool] = False
    """True for a platform where anybody may add the bot to a workspace of their own.

    Its routes for `users = "members"` have to name their workspaces.
    """

    ids: ClassVar[Mapping[str, IdForm]] = {}
    """The platform's forms of ids, by the keys of a route.

    With a form for one key, ids under keys without one can't let anybody in. Without any, ids are
    not checked.
    """

    people_have_workspaces: ClassVar[bool] = False
    """True if a person's id names a workspace, as in "slack:T1:U1"."""

    @property
    def api_address(self) -> str:
        """The address of the table's platform, if it is known."""
        return ""

    def look_of(self, face: Face) -> str:
        """The look of an agent there, in words."""
        return face.name

    @property
    def app_ids(self) -> tuple[str, ...]:
        """Ids of the platform's apps, such as "app A0123ABCD"."""
        return ()

    @property
    def listens_at(self) -> tuple[str, int] | None:
        """Host and port at which the platform's requests are taken, if any."""
        return None


def template(*fields: str) -> AfterValidator:
    """Let a text have these fields in braces, and no others."""

    def check(text: str) -> str:
        known = ", ".join(f"{{{field}}}" for field in fields)
        try:
            found = {field for _, field, _, _ in Formatter().parse(text) if field is not None}
        except ValueError as error:
            raise ValueError(
                f"expected a text with {known}: {error}; for a plain brace, write it twice"
            ) from error
        for field in sorted(found - {*fields}):
            hint = did_you_mean(field, fields) or f"known are {known}"
            raise ValueError(
                f"there is no field {{{field}}}; {hint} (for a plain brace, write it twice)"
            )
        return text

    return AfterValidator(check)


def host_name(example: str) -> AfterValidator:
    """Let a text be a host's name or address, and no URL."""

    def check(text: str) -> str:
        if _HOST.fullmatch(text) or (":" in text.strip("[]") and _is_address(text)):
            return text
        meant = urlsplit(text if "//" in text else f"//{text}").hostname or example
        raise ValueError(
            f"found {text!r}, expected a host without scheme, port and path; write {meant!r}"
        )

    return AfterValidator(check)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
