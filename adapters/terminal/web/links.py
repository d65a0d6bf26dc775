"""Links that let a browser in, once, and who is in.

Links stand in a private folder: whoever may write there may sign in. So a second `parley web` makes
another link for the one that runs, and `--sign-out` reaches it.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from gateway.errors import GatewayError

LINK_BYTES = 16
LINK_SECONDS = 600.0
COOKIE_BYTES = 32
COOKIE_SECONDS = 12 * 3600


class AlreadyRuns(GatewayError):
    """Another `parley web` has the folder, and an address."""

    def __init__(self, told: str) -> None:
        super().__init__("`parley web` is just starting elsewhere. Try it again.")
        self.address, _, self.config = told.partition(" ")


@contextmanager
def only_one(folder: Path) -> Generator[Callable[[str], None]]:
    """Be the folder's only `parley web`; others read the address told.

    Raises AlreadyRuns, and GatewayError if the folder can't be used.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        opened = _private(os.fspath(folder / "address"), os.O_RDWR | os.O_CREAT | os.O_APPEND)
    except OSError as error:
        raise GatewayError(f"{folder} can't be used: {error.strerror}.") from error
    with open(opened, "a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise AlreadyRuns(file.read()) from None

        def tell(address: str) -> None:
            file.truncate(0)
            file.write(address)
            file.flush()

        tell("")
        yield tell


def sign_out(folder: Path) -> str:
    """End all that `parley web` has let in; what to tell."""
    try:
        with only_one(folder):
            return "`parley web` does not run here, so no browser is signed in."
    except AlreadyRuns:
        Links(folder).sign_out()
        return "All browsers are signed out, and their chats end."


class Links:
    """Links of a folder, and the word of its last sign-out."""

    def __init__(self, folder: Path, now: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._now = now

    def make(self) -> str:
        """The key of a new link."""
        key = secrets.token_urlsafe(LINK_BYTES)
        path = self._path(key)
        os.close(_private(os.fspath(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        os.utime(path, (self._now(), self._now()))
        return key

    def take(self, key: str) -> bool:
        """Use a link up; False for an old or unknown one."""
        path = self._path(key)
        try:
            age = self._now() - path.stat().st_mtime
            path.unlink()
        except FileNotFoundError:
            return False
        return age < LINK_SECONDS

    def drop(self) -> None:
        """Take all links back."""
        for path in self._folder.glob("*.link"):
            path.unlink(missing_ok=True)

    def sign_out(self) -> None:
        """Take all links back, and end what others became."""
        self.drop()
        with open(self._folder / "word", "w", encoding="utf-8", opener=_private) as file:
            file.write(secrets.token_hex(LINK_BYTES))

    @property
    def word(self) -> str:
        """Another one since all were signed out."""
        with suppress(FileNotFoundError):
            return (self._folder / "word").read_text(encoding="utf-8")
        return ""

    def _path(self, key: str) -> Path:
        return self._folder / f"{_digest(key)}.link"


class Cookies:
    """The browsers that are in, by digests of their cookies."""

    def __init__(self, links: Links, now: Callable[[], float] = time.time) -> None:
        self._links = links
        self._now = now
        self._known: dict[str, tuple[float, str]] = {}

    def make(self) -> str:
        """A cookie that counts from now on."""
        cookie = secrets.token_urlsafe(COOKIE_BYTES)
        self._known[_digest(cookie)] = self._now() + COOKIE_SECONDS, self._links.word
        return cookie

    def counts(self, cookie: str) -> bool:
        """True for a cookie that has not ended."""
        until, word = self._known.get(_digest(cookie), (0.0, ""))
        return self._now() < until and word == self._links.word


def _digest(text: str) -> str:
    return sha256(text.encode(errors="replace")).hexdigest()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
