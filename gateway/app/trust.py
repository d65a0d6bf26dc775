"""Trust in a config that was found in the current folder.

Whoever unpacks a folder and starts Parley in it has not read its config. It is used only after
the person has seen what it can do; that is remembered until the file changes.
"""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from gateway.base.exit_codes import ExitCode
from gateway.base.paths import find_config, store_folder
from gateway.config.powers import Power, powers_of
from gateway.errors import GatewayError

HERE = Path("config.toml")
REMEMBERED = "trusted-configs.json"


class ConfigNotTrusted(GatewayError):
    """A config of the current folder that nobody has agreed to."""

    exit_code = ExitCode.USAGE


@dataclass(frozen=True, slots=True)
class FoundConfig:
    """A config of the current folder, with what it can do."""

    path: Path
    digest: str
    powers: tuple[Power, ...]

    def describe(self) -> str:
        """Its powers, a line each."""
        lines = map(_power_line, self.powers)
        return "\n".join([f"{self.path} was found here. It names:", *lines])


def _power_line(power: Power) -> str:
    return f"  {power.kind:8}  {' '.join(power.what.splitlines())}"


def found_config(named: Path | None) -> FoundConfig | None:
    """The current folder's config, if nobody has agreed to it.

    One that the command line or PARLEY_CONFIG names has been chosen. One that can't be read is
    reported when it is loaded.
    """
    if named is not None or os.environ.get("PARLEY_CONFIG") or find_config() != HERE:
        return None
    found = read_found(HERE)
    return None if found is None or _is_remembered(found.path, found.digest) else found


def untrusted_config(named: Path | None) -> FoundConfig | None:
    """The current folder's config, if it has powers nobody agreed to."""
    found = found_config(named)
    return found if found and found.powers else None


def is_trusted(source: Path | None, text: str) -> bool:
    """False for a found config that nobody has agreed to."""
    if source is None or source != HERE or os.environ.get("PARLEY_CONFIG"):
        return True
    return _is_remembered(source.absolute(), _digest(text))


def powers_here(named: Path | None) -> frozenset[Power] | None:
    """Powers of the current folder's config, or None for a chosen one."""
    if named is not None or os.environ.get("PARLEY_CONFIG") or find_config() != HERE:
        return None
    found = read_found(HERE)
    return frozenset(found.powers) if found else frozenset()


def check_powers(agreed: frozenset[Power] | None) -> None:
    """Check that the current folder's config has no new powers.

    Raises ConfigNotTrusted. None stands for a config that was chosen, which may name anything.
    """
    if agreed is None or (found := read_found(HERE)) is None:
        return
    if new := [power for power in found.powers if power not in agreed]:
        raise ConfigNotTrusted(
            "It names more than you have agreed to, and is used once you have, at the next start:\n"
            + "\n".join(map(_power_line, new))
        )


def read_found(source: Path) -> FoundConfig | None:
    """The config at this path with its powers, if there is one.

    Raises ConfigNotTrusted for one that is nested too deep.
    """
    try:
        text = source.read_text(encoding="utf-8-sig")  # as it is loaded, with the same line ends
        powers = powers_of(tomllib.loads(text))
    except (OSError, ValueError):
        return None
    except RecursionError as error:
        raise ConfigNotTrusted(f"{source.absolute()} is nested too deep.") from error
    # Links are not followed: Python is imported from the folder where the link stands.
    return FoundConfig(source.absolute(), _digest(text), tuple(powers))


def remember(found: FoundConfig) -> None:
    """Ask no more about this file while it stays as it is."""
    place = store_folder() / REMEMBERED
    known = _remembered() | {str(found.path): found.digest}
    written = place.with_name(f".{REMEMBERED}.{os.getpid()}")
    with suppress(OSError):  # then the next command asks again
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        written.write_text(json.dumps(known, indent=1), encoding="utf-8")
        written.chmod(0o600)
        written.replace(place)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _is_remembered(path: Path, digest: str) -> bool:
    return _remembered().get(str(path)) == digest


def _remembered() -> dict[str, Any]:
    """Digests of the configs that were agreed to, by path."""
    try:
        known = json.loads((store_folder() / REMEMBERED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", known) if isinstance(known, dict) else {}
