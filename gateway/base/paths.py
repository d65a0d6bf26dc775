"""Paths, and settings that the first screen needs; imports nothing heavy."""

from __future__ import annotations

import errno
import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from gateway.base.terminal_keys import USUAL_KEYS, Keys, chosen_keys


def find_config() -> Path | None:
    """The config to use: $PARLEY_CONFIG, ./config.toml or the user's; or None."""
    if named := os.environ.get("PARLEY_CONFIG"):
        return Path(named)
    places = (Path("config.toml"), user_config())
    return next((place for place in places if place.is_file()), None)


def user_config() -> Path:
    """Where the user's own config file would be."""
    return _base("XDG_CONFIG_HOME", ".config") / "parley" / "config.toml"


def store_folder() -> Path:
    """Where threads are kept unless the config says otherwise."""
    return _base("XDG_DATA_HOME", ".local/share") / "parley"


def read_ordinary(path: Path, longest: int) -> tuple[bytes, int]:
    """Data and size of an ordinary file; too much is left out.

    Blocks. Raises OSError, also for a folder, a pipe or a device.
    """
    _check_ordinary(path.stat())  # a device may act on being opened
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        _check_ordinary(facts := os.fstat(file))
        data, size = b"", facts.st_size
        if size <= longest:
            with open(file, "rb", closefd=False) as opened:
                data = opened.read(longest + 1)
    finally:
        os.close(file)
    size = max(size, len(data))  # it grows, or does not say its size
    return (data if size <= longest else b""), size


def read_bounded(path: Path, longest: int) -> bytes:
    """Data of an ordinary file.

    Blocks. Raises OSError, also for a longer one.
    """
    data, size = read_ordinary(path, longest)
    if size > longest:
        raise OSError(errno.EFBIG, f"it has more than {longest:,} bytes")
    return data


def _check_ordinary(facts: os.stat_result) -> None:
    kinds = {stat.S_IFDIR: "folder", stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}
    kind = stat.S_IFMT(facts.st_mode)
    if kind != stat.S_IFREG:
        raise OSError(errno.EINVAL, f"it is a {kinds.get(kind, 'device')}, not a file")


def make_private(folder: Path) -> None:
    """Make a folder that nobody else can read, if missing."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstScreen:
    """Settings of [terminal] and [store] needed before the first screen."""

    folder: Path
    """The config's folder; without one, the current folder."""
    store: Path
    in_database: bool = False
    """True if threads are in a database, and only the rest of the store in its folder."""
    operator: str
    theme: str = ""
    mouse: bool = True
    keys: Keys = USUAL_KEYS


def first_screen(source: Path | None) -> FirstScreen:
    """The config's settings as far as they can be read.

    Its mistakes are reported when it is loaded.
    """
    data = read_plain(source) if source else {}
    folder = source.absolute().parent if source else Path.cwd()
    stored, mouse = _setting(data, "store", "folder"), _setting(data, "terminal", "mouse")
    theme, name = _setting(data, "terminal", "theme"), _setting(data, "terminal", "name")
    return FirstScreen(
        folder=folder,
        store=folder / Path(stored).expanduser() if _is_plain(stored) else store_folder(),
        in_database=any(_setting(data, "store", key) for key in ("url", "url_env", "url_file")),
        operator=(name if _is_plain(name) else "") or account_name(),
        theme=theme if isinstance(theme, str) else "",
        mouse=mouse is not False,
        keys=chosen_keys(_setting(data, "terminal", "keys")),
    )


def account_name() -> str:
    """The account's person or name; "" if there is none."""
    try:
        account = pwd.getpwuid(os.getuid())
    except KeyError:  # a container may run as a number alone
        return ""
    return account.pw_gecos.partition(",")[0].strip() or account.pw_name


def read_plain(source: Path) -> dict[str, Any]:
    """The file's tables as written; none if it can't be read."""
    import tomllib  # a chat without a config starts without it

    try:
        return tomllib.loads(source.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return {}


def _setting(data: dict[str, Any], table: str, key: str) -> Any:
    inner = data.get(table)
    return inner.get(key) if isinstance(inner, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def _is_plain(setting: Any) -> TypeGuard[str]:
    """True for a text without variables of the environment."""
    return isinstance(setting, str) and "${" not in setting


def _base(variable: str, fallback: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / fallback)
