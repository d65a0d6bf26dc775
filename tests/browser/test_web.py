"""`parley web` in a real browser: links, keys, tabs, a reload."""

import asyncio
import os
import re
import signal
import sys
from pathlib import Path

import pytest
from playwright.async_api import Page, async_playwright

PATIENCE = 110.0


async def in_chat(page: Page) -> None:
    await page.wait_for_selector("body.-first-byte", timeout=PATIENCE * 1000)
    await page.wait_for_selector("textarea:focus", timeout=PATIENCE * 1000)


@pytest.mark.timeout(120)
async def test_a_link_opens_the_chat_once_and_its_end_is_the_end(tmp_path: Path):
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "gateway.cli", "web", "--port", "0"),
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE), async_playwright() as playwright:
        greeting = (await process.stdout.readuntil(b"?key=")).decode()
        link = greeting.split()[-1] + (await process.stdout.readline()).decode().strip()
        home = re.sub(r"enter.*", "", link)
        chromium = await playwright.chromium.launch(
            executable_path=os.environ["PARLEY_CHROMIUM"], args=["--no-sandbox"]
        )
        mine, stolen = await chromium.new_context(), await chromium.new_context()
        page, second, thief = await mine.new_page(), await mine.new_page(), await stolen.new_page()
        mistakes: list[str] = []
        page.on("pageerror", lambda error: mistakes.append(str(error)))
        await page.goto(link)
        await in_chat(page)
        assert page.url == home
        await second.goto(home)
        await in_chat(second)
        await thief.goto(link)
        assert "used already" in await thief.inner_text("body")
        await thief.goto(home)
        assert "not signed in" in await thief.inner_text("body")
        await page.reload()
        await in_chat(page)
        await page.keyboard.type("hello")
        process.send_signal(signal.SIGINT)
        await page.wait_for_selector("body.-closed #ended", state="visible")
        await second.wait_for_selector("body.-closed")
        assert not mistakes
        await chromium.close()
        assert await process.wait() == 130
