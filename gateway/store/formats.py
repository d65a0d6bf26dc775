"""Formats of the store, the same in both databases.

A new store is made from `schema.sql`; the numbered scripts in `migrations` bring others up to date.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from gateway.errors import StoreTooOld

OLDEST = 21
"""The oldest format that is upgraded."""
BASE = 26
"""The format that `schema.sql` makes."""
LAST_UPGRADE = "14d6f32f"
"""The last commit of Parley that upgrades what is older than OLDEST."""


def script(path: str) -> str:
    """The text of a script, by its path below this folder."""
    return files("gateway.store").joinpath(path).read_text("utf-8")


@cache
def migrations() -> Mapping[int, str]:
    """The scripts that lead to each format, by its number."""
    folder = files("gateway.store") / "migrations"
    names = sorted(each.name for each in folder.iterdir() if each.name.endswith(".sql"))
    return {int(name[:4]): script(f"migrations/{name}") for name in names}


def newest_format() -> int:
    """The format of a store that is up to date."""
    return max(migrations())


def check_upgradable(version: int, what: str) -> None:
    """Raise StoreTooOld for what is older than OLDEST."""
    if version < OLDEST:
        raise StoreTooOld(
            f"The {what} was made by an older Parley (format {version}, this one knows {OLDEST} and"
            f" later). Open it once with Parley at commit {LAST_UPGRADE}, which upgrades it."
        )
