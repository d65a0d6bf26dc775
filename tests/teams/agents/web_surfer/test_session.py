"""A browser's page and news of it, in a fake context."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from teams.agents.web_surfer import _session
from teams.agents.web_surfer._controller import PlaywrightController
from teams.agents.web_surfer._session import MOST_BROWSERS, BrowserSession
from teams.kinds import NetworkRules


class Page:
    """A page of a context."""

    url = "https://here.example/"

    def __init__(self, context: Context) -> None:
        self.context = context
        self.closed = False
        self.viewport_size: dict[str, int] | None = None
        self.content = ""

    def is_closed(self) -> bool:
        return self.closed

    async def close(self) -> None:
        self.closed = True
        self.context.open.remove(self)

    def on(self, event: str, handler: Any) -> None:
        pass

    async def set_viewport_size(self, size: dict[str, int]) -> None:
        self.viewport_size = size

    async def screenshot(self, **options: Any) -> bytes:
        return self.content.encode() or b"shot"

    async def set_content(self, content: str, **options: Any) -> None:
        self.content = content


class Context:
    """A browser of the user's own, with a page of theirs."""

    def __init__(self) -> None:
        self.handlers: dict[str, Callable[[Any], Awaitable[None]]] = {}
        self.theirs = Page(self)
        self.open = [self.theirs]

    @property
    def pages(self) -> list[Page]:
        return [*self.open]

    def on(self, event: str, handler: Any) -> None:
        self.handlers[event] = handler

    def remove_listener(self, event: str, handler: Any) -> None:
        del self.handlers[event]

    async def new_page(self) -> Page:
        self.open.append(Page(self))
        return self.open[-1]


class Download:
    """A file that a page gives."""

    suggested_filename = "../a b.txt"

    def __init__(self, path: Path) -> None:
        self._path = path
        self.ended: list[str] = []

    async def path(self) -> Path:
        return self._path

    async def delete(self) -> None:
        self.ended.append("deleted")

    async def cancel(self) -> None:
        self.ended.append("cancelled")


def session_in(context: Any, folder: Path | None = None) -> BrowserSession:
    controller = PlaywrightController(downloads_folder=folder and str(folder))
    return BrowserSession(
        controller,
        NetworkRules(),
        headless=True,
        channel=None,
        data_dir=None,
        playwright=None,
        context=context,
    )


@pytest.fixture(autouse=True)
def none_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_session, "_open", list[BrowserSession]())


async def test_a_context_is_left_as_it_was_found():
    context = Context()
    session = session_in(context)
    with pytest.raises(ValueError, match="No page is open"):
        _ = session.page
    await session.open()
    assert session.is_open
    assert len(context.pages) == 3
    assert session.page.viewport_size == {"width": 1440, "height": 900}
    await session.close()
    assert not session.is_open
    assert (context.pages, context.handlers) == ([context.theirs], {})


async def test_another_page_takes_the_place_of_the_one_before():
    context = Context()
    session = session_in(context)
    await session.open()
    before, other = session.page, await context.new_page()
    shown: Any = other
    await session.show(shown)
    assert session.page is other
    assert before.is_closed()
    assert not context.theirs.closed
    await session.close()


async def test_the_browser_that_was_used_longest_ago_gives_way():
    sessions = [session_in(Context()) for _ in range(MOST_BROWSERS + 1)]
    for session in sessions[:-1]:
        await session.open()
    _ = sessions[0].page
    await sessions[-1].open()
    assert [session.is_open for session in sessions] == [True, False, True, True, True]
    for session in sessions:
        await session.close()


async def test_a_picture_has_a_numbered_box_for_each_element():
    session = session_in(Context())
    await session.open()
    box = {"x": 1.0, "y": 2.0, "width": 3.0, "height": 4.0}
    region: Any = {"rects": [box]}
    picture = (await session.picture({"10": region})).decode()
    assert "left:1.0px;top:2.0px;width:3.0px;height:4.0px" in picture
    assert "<b>10</b>" in picture
    await session.close()


async def test_downloads_are_kept_or_refused_and_told_once(tmp_path: Path):
    found = tmp_path / "found"
    found.write_text("x")
    session, refusing = session_in(Context(), tmp_path / "kept"), session_in(Context())
    kept, refused = Download(found), Download(found)
    given: tuple[Any, Any] = (kept, refused)
    await session._note_download(given[0])
    await refusing._note_download(given[1])
    assert await session.news() == ["Downloaded '_a_b.txt'."]
    assert await session.news() == []
    [said] = await refusing.news()
    assert "'_a_b.txt' was refused: there is no folder for downloads" in said
    assert (kept.ended, refused.ended) == (["deleted"], ["cancelled"])
    assert (tmp_path / "kept" / "_a_b.txt").read_text() == "x"
