"""All arguments of a tool call, full-screen and with a search."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

from textual.app import App
from textual.containers import VerticalScroll
from textual.pilot import Pilot
from textual.widgets import Input, Static

from adapters.terminal.screens.arguments import KEYS, ArgumentsScreen
from gateway.items import RequestItem
from tests.adapters.terminal.running import approval
from tests.fakes.news import news_of

LONG = "\n".join(f"line {number}" for number in range(200))


@asynccontextmanager
async def shown() -> AsyncGenerator[tuple[Pilot[None], ArgumentsScreen]]:
    """The arguments of a call over an empty app."""
    event = approval("writer", "r1", "send", json.dumps({"text": LONG}))
    [item] = news_of([replace(event, seq=1)])
    assert isinstance(item, RequestItem)
    screen, app = ArgumentsScreen(item), App[None]()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(screen)
        await pilot.pause()
        yield pilot, screen


def keys(screen: ArgumentsScreen) -> str:
    return str([*screen.query(Static)][-1].render())


async def test_everything_that_a_call_was_given_is_scrolled_through() -> None:
    async with shown() as (pilot, screen):
        assert (screen.request, screen.subject) == ("r1", "writer asks to run send")
        scroll = screen.query_one(VerticalScroll)
        assert scroll.max_scroll_y > 100
        await pilot.press("down", "pagedown")
        assert scroll.scroll_y > 1
        await pilot.press("end")
        assert scroll.scroll_y == scroll.max_scroll_y
        await pilot.press("home")
        assert scroll.scroll_y == 0
        assert keys(screen) == KEYS


async def test_words_are_found_one_after_another() -> None:
    async with shown() as (pilot, screen):
        scroll = screen.query_one(VerticalScroll)
        await pilot.press("slash", *"line 15", "enter")
        await pilot.pause()
        first = scroll.scroll_y
        assert first > 0 or "1" in keys(screen)
        await pilot.press("n", "n", "n", "n")
        await pilot.pause()
        assert scroll.scroll_y > first
        assert "n next" in keys(screen)


async def test_the_way_back_leads_out_of_the_search_first() -> None:
    async with shown() as (pilot, screen):
        await pilot.press("slash")
        assert screen.query_one(Input).display
        await pilot.press("escape")
        assert not screen.query_one(Input).display
        assert pilot.app.screen is screen
        await pilot.press("escape")
        await pilot.pause()
        assert pilot.app.screen is not screen
