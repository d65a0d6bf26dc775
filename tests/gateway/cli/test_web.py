"""`parley web` itself, with a chat in a tab."""

import asyncio
import os
import re
import signal
import sys
from importlib.util import find_spec
from pathlib import Path

import aiohttp
import pytest
from click.testing import CliRunner

from gateway.cli import main

PATIENCE = 60.0


HAS_EXTRA = find_spec("textual_serve") is not None


@pytest.mark.skipif(not HAS_EXTRA, reason="it needs the extra `web`")
async def test_a_browser_has_the_chat_until_ctrl_c(tmp_path: Path):
    from tests.adapters.terminal.web.served import shown  # it imports the extra

    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "gateway.cli", "web", "--port", "0"),
        cwd=tmp_path,
        env=os.environ | {"PARLEY_SECRET": "", "MY_PIN": "1234"},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        greeting = (await process.stdout.readuntil(b"?key=")).decode()
        link = greeting.split()[-1] + (await process.stdout.readline()).decode().strip()
        found = re.match(r"http://[^/]+", link)
        assert found is not None
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(found[0], cookie_jar=jar) as browser:
            async with browser.get(link) as response:
                assert response.status == 200
            async with browser.ws_connect("/socket", headers={"Origin": found[0]}) as tab:
                await shown(tab, "ready")
                await tab.send_json(["stdin", "what is 6*7?"])
                await shown(tab, "6*7?")
                await tab.send_json(["stdin", "\r"])
                await shown(tab, "42")
                process.send_signal(signal.SIGINT)
                await shown(tab)
        assert await process.wait() == 130


@pytest.mark.skipif(not HAS_EXTRA, reason="it needs the extra `web`")
def test_sign_out_says_that_nobody_is_in(tmp_path: Path):
    done = CliRunner().invoke(main, ["web", "--sign-out"])
    assert (done.exit_code, done.output) == (
        0,
        "`parley web` does not run here, so no browser is signed in.\n",
    )


def test_without_the_extra_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    done = CliRunner().invoke(main, ["web"])
    assert done.exit_code == 1
    assert "pip install 'parley-gateway[web]'" in done.output


@pytest.mark.skipif(not HAS_EXTRA, reason="it needs the extra `web`")
def test_proxies_are_addresses(tmp_path: Path):
    config = tmp_path / "config.toml"
    config.write_text('[web]\nproxies = ["10.0.0.0/8", "proxy.example.com"]\n')
    done = CliRunner().invoke(main, ["web", "--config", str(config)])
    assert done.exit_code == 2
    assert "found 'proxy.example.com', expected an IP address or a network" in done.output
