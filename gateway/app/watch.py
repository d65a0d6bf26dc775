"""Watch over a config: changes are checked, and taken by themselves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from gateway.app.config_diff import changed_settings
from gateway.app.load import LoadedConfig
from gateway.app.watched_files import States, named_files, read_states
from gateway.base.redaction import REDACTION
from gateway.config.root import Config
from gateway.errors import GatewayError, log_incident

LOG = logging.getLogger("gateway")

EVERY = 1.0
"""Seconds between two looks at the files."""
PATIENCE = 5.0
"""Seconds that one look may take, on a disk of another machine."""
LOOKS_WITHOUT = 3
"""Looks for which a file may be away: editors replace files in two steps."""
MOST_NAMED = 3
"""Settings that are told by their names."""

TAKEN = "; taken from the next turn on."
NO_SETTING = ", but no setting did."

Level: TypeAlias = Literal["info", "warning", "error"]
Tell: TypeAlias = Callable[[str, Level], None]


def tell_nobody(text: str, level: Level) -> None:
    """Leave it to the log."""


def allow_all() -> None:
    """Allow every config."""


NOTHING_TO_WATCH = "There is no config file to watch: the built-in config is used."


class Renewal(Protocol):
    """Use of the current config, by this process or by all nodes."""

    async def renew(self) -> LoadedConfig:
        """Use the current config; the one that was used before. Raises GatewayError."""
        ...

    @property
    def loaded(self) -> LoadedConfig:
        """The config in use."""
        ...

    @property
    def module_files(self) -> frozenset[Path]:
        """Files of the modules that were imported from the config's folder."""
        ...


class ConfigWatch:
    """Looks at a config's files; has the reloader use changes.

    What is told is one text for each change, which the log has, too. `allow` raises GatewayError
    for a config that may not be used although it is right.
    """

    def __init__(self, reloader: Renewal, tell: Tell, allow: Callable[[], None]) -> None:
        self._reloader = reloader
        self._tell = tell
        self._allow = allow
        self._files = self._all_files()
        self._seen = read_states(self._files, {})
        self._used = self._judged = _contents(self._seen) | self._changed_meanwhile()
        self._away = 0
        self._reading: asyncio.Future[States] | None = None

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await asyncio.sleep(EVERY)
            try:
                await self.look()
            except Exception as error:
                incident = log_incident(error, "the config could not be watched")
                self._say(f"The config could not be watched (parley log {incident}).", "error")

    async def look(self) -> None:
        """Look once; take a change that has come to rest."""
        now = await self._states()
        if now is None:
            return
        rests, self._seen = now == self._seen, now
        contents = _contents(now)
        if not rests or contents == self._judged:
            self._away = 0
            return
        lost = any(digest is None and self._judged.get(path) for path, digest in contents.items())
        if lost and self._away < LOOKS_WITHOUT:
            self._away += 1
            return
        await self._judge(contents)

    async def _judge(self, contents: Mapping[Path, str | None]) -> None:
        self._away = 0
        earlier, self._judged = self._judged, contents
        if changed := _difference(contents, self._used):
            await self._take(changed, contents)
        else:
            back = self._names(_difference(earlier, self._used))
            self._say(f"{back} changed back to the version in use.", "info")

    async def _take(self, changed: list[Path], contents: Mapping[Path, str | None]) -> None:
        """Use the changed files if they can be used."""
        what = f"{self._names(changed)} changed"
        await self._note_files()  # as they are before they are read: a later change is another
        try:
            self._allow()
            before = await self._reloader.renew()
        except GatewayError as error:
            self._say(
                f"{what} and can't be used; the last good version stays in use.\n{error}", "error"
            )
        else:
            self._used = {**self._used, **contents}
            told = _changes_text(before.config, self._reloader.loaded.config)
            self._say(what + (told or (NO_SETTING if self._is_config(changed) else TAKEN)), "info")
        await self._note_files()

    async def _note_files(self) -> None:
        """Watch the files that are named now."""
        self._files = await asyncio.to_thread(self._all_files)
        new = await asyncio.to_thread(read_states, self._files, self._seen)
        added = {path: state for path, state in new.items() if path not in self._seen}
        self._seen = {path: self._seen.get(path, added.get(path)) for path in self._files}
        self._used = _with(self._used, added, self._files)
        self._judged = _with(self._judged, added, self._files)

    def _changed_meanwhile(self) -> dict[Path, str | None]:
        """The config without content, if it changed since it was read."""
        source, text = self._reloader.loaded.source, self._reloader.loaded.text
        with suppress(OSError, ValueError):
            if source is None or source.read_text(encoding="utf-8") == text:
                return {}
        assert source is not None
        return {source.absolute(): ""}

    def _all_files(self) -> frozenset[Path]:
        """Files that the config in use names, or its present text."""
        loaded = self._reloader.loaded
        if loaded.source is None:
            return frozenset()
        used = named_files(loaded.source, loaded.text) | self._reloader.module_files
        with suppress(OSError, ValueError):  # it is told with its next change
            return used | named_files(loaded.source, loaded.source.read_text(encoding="utf-8"))
        return used

    async def _states(self) -> States | None:
        """The files' states; None while the disk does not tell them."""
        if self._reading is None:
            loop = asyncio.get_running_loop()
            self._reading = loop.run_in_executor(None, read_states, self._files, self._seen)
        done, _ = await asyncio.wait({self._reading}, timeout=PATIENCE)
        if not done:
            LOG.warning("the files of the config have not answered for %.0f s", PATIENCE)
            return None
        reading, self._reading = self._reading, None
        return reading.result()

    def _is_config(self, changed: list[Path]) -> bool:
        source = self._reloader.loaded.source
        return changed == [source and source.absolute()]

    def _names(self, paths: Collection[Path]) -> str:
        """The files as people know them, the config first."""
        source = self._reloader.loaded.source
        assert source is not None
        config = source.absolute()
        ordered = sorted(paths, key=lambda path: (path != config, path))
        shown = [
            str(path.relative_to(config.parent) if path.is_relative_to(config.parent) else path)
            for path in ordered
        ]
        return _joined(shown)

    def _say(self, text: str, level: Level) -> None:
        text = REDACTION.all(text)
        LOG.log(logging.ERROR if level == "error" else logging.INFO, "%s", text)
        self._tell(text, level)


@asynccontextmanager
async def watching(
    reloader: Renewal, tell: Tell, allow: Callable[[], None]
) -> AsyncGenerator[None]:
    """Watch the reloader's config meanwhile."""
    if reloader.loaded.source is None:
        tell(NOTHING_TO_WATCH, "warning")
        yield
        return
    watch = await asyncio.to_thread(ConfigWatch, reloader, tell, allow)
    # It may be entered by one task and left by another, so it hangs on a task of its own.
    task = asyncio.get_running_loop().create_task(watch.run(), name="config watch")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


def _changes_text(old: Config, new: Config) -> str:
    """The settings that differ, and from when on they hold."""
    now, later = changed_settings(old, new)
    if not (now or later):
        return ""
    if not now:
        return f": {_few(later)}; taken at the next start."
    rest = f", {_few(later)} at the next start" if later else ""
    return f": {_few(now)}; taken from the next turn on{rest}."


def _few(names: list[str]) -> str:
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED} more"


def _joined(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _difference(contents: Mapping[Path, str | None], used: Mapping[Path, str | None]) -> list[Path]:
    return [path for path, digest in contents.items() if digest != used.get(path)]


def _contents(states: States) -> dict[Path, str | None]:
    return {path: state and state.digest for path, state in states.items()}


def _with(
    contents: Mapping[Path, str | None], added: States, files: Collection[Path]
) -> dict[Path, str | None]:
    """Contents of these files, with the added ones."""
    every = {**_contents(added), **contents}
    return {path: digest for path, digest in every.items() if path in files}
