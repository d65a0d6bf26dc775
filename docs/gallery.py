"""Write docs/gallery: payloads and pictures of typical answers on Slack and Discord.

`python docs/gallery.py` drives the real gateway against both simulators, with a scripted model.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import tempfile
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from adapters.discord.testing.simulator import DiscordSimulator
from adapters.slack.simulator.clock import RealClock
from adapters.slack.testing.simulator import SlackSimulator
from docs.gallery_payloads import Call, printed_calls, stable
from docs.gallery_places import DiscordPlace, Place, SlackPlace
from docs.gallery_scenes import FILLER, SCENES
from gateway.app.load import load_config
from gateway.app.serve import open_service, run_adapters
from gateway.gateway import Gateway
from gateway.store.sqlite.store import SqliteStore
from gateway.store.units import outbox
from tests.fakes.openai_server import FakeOpenAI

DOCS = Path(__file__).resolve().parent
PATIENCE = 30.0
QUIET = 5
"""Looks in a row at which nothing was going on."""
PAUSE = 0.02
NUMBER = re.compile(r"^\S.*? \[(\d+)\]")
FILLED = re.compile(rf"^(Paragraph \d+\.) {re.escape(FILLER)}.*$")
READING = re.compile(r"^(GET|DELETE|PUT)|^(apps|auth|users|team|bots|conversations)\.")

HEAD = """\
# Gallery

See here what answers, requests, errors and files become on Slack and on Discord.

`python docs/gallery.py` makes these pages: a real gateway with a scripted model writes to the
simulators of both platforms. Each page shows the calls that went over the wire and a picture.

- The calls have other ids and times (`TS1`, `ID1`, `KEY1`), and shorter texts and lists. They lack
  fields that are the same in every call, such as Discord's `allowed_mentions`. If a message changes
  several times, the page has the last change.
- Parts that are streamed depend on the moment: another run may cut them elsewhere, or post a short
  answer in one call.
- **A picture is the simulator's own rendering as text. It is not the platform's**: it shows which
  message has which content, and their order. It shows no fonts, colours or widths. Text is as it
  was sent, with the platform's markup.

## Scenes

"""


async def pages() -> dict[Path, str]:
    """The gallery as Markdown: a page for each scene, and their list."""
    async with SlackSimulator(clock=RealClock(), rates=False) as slack:
        slack.person("alice")
        slacks = [scene async for scene in _shown("slack", SlackPlace(slack))]
    async with DiscordSimulator() as discord:
        discord.person("alice")
        discords = [scene async for scene in _shown("discord", DiscordPlace(discord))]
    found = {DOCS / "gallery.md": HEAD}
    for scene, in_slack, in_discord in zip(SCENES, slacks, discords, strict=True):
        name = scene.title.lower().replace(" ", "-")
        found[DOCS / "gallery.md"] += f"- [{scene.title}](gallery/{name}.md): {scene.about}\n"
        found[DOCS / "gallery" / f"{name}.md"] = (
            f"# {scene.title}\n\n{scene.about} The [gallery](../gallery.md) has other scenes.\n\n"
            f"## {scene.title} on Slack\n\n{in_slack}\n## {scene.title} on Discord\n\n{in_discord}"
        )
    return found


async def _shown(name: str, place: Place) -> AsyncGenerator[str]:
    """The scenes on a platform, as Markdown."""
    written: list[str] = []
    async with _serving(name, place) as gateway:
        console = place.console(written)
        console.screen.refresh()
        for scene in SCENES:
            written.clear()
            before = len(place.calls())
            await console.run_line(f"@parley {scene.asks}")
            if scene.press:
                await _settled(gateway, name, place, scene.press.partition(",")[0], before)
                console.screen.refresh()
                several = "," in scene.press
                sign = f"{scene.press.partition(',')[0]} |" if several else f"<{scene.press}>"
                uses = "select" if several else "click"
                await console.run_line(f"/{uses} {_number(written, sign)} {scene.press}")
            if scene.menu:
                await _settled(gateway, name, place, scene.on, before)
                console.screen.refresh()
                await console.run_line(f"/menu {_number(written, scene.on)} {scene.menu}")
            await _settled(gateway, name, place, scene.ends, before)
            console.screen.refresh()
            yield _section(place.calls()[before:], written)


@asynccontextmanager
async def _serving(name: str, place: Place) -> AsyncGenerator[Gateway]:
    """The gateway with the scenes' team, once it is connected."""
    rules = [answer for scene in SCENES for answer in scene.answers]
    with tempfile.TemporaryDirectory() as folder:
        async with FakeOpenAI(rules=rules) as model:
            config = Path(folder) / "config.toml"
            config.write_text(_config(name, place, model.url), encoding="utf-8")
            store = SqliteStore(Path(folder) / "store")
            async with (
                open_service(load_config(config), store) as (gateway, adapters, _),
                asyncio.TaskGroup() as group,
            ):
                running = group.create_task(run_adapters(gateway, adapters), name="adapters")
                async with asyncio.timeout(PATIENCE):
                    while not place.is_connected():  # noqa: ASYNC110 (it tells nobody)
                        await asyncio.sleep(PAUSE)
                yield gateway
                running.cancel()


def _lines(settings: Mapping[str, str]) -> str:
    return "\n".join(f"{key} = {json.dumps(value)}" for key, value in settings.items())


def _config(name: str, place: Place, url: str) -> str:
    simulation = place.simulation
    room = simulation.room("general")
    table, scope = _lines(simulation.table), _lines(simulation.scope)
    return f"""
[models.scripted]
provider = "openai"
model = "gpt-4o"
base_url = "{url}"
api_key = "sk-gallery"

[teams.gallery]
factory = "docs.gallery_scenes:build"
model = "scripted"

[adapters.{name}]
{table}

[[routes]]
adapter = "{name}"
channels = ["{room}"]
users = ["members"]
team = "gallery"
{scope}

[policies]
operators = {json.dumps(list(simulation.operators))}

[policies.tools]
pay_back = "ask"
edit_file.action = "ask"
edit_file.paths = ["path"]
edit_file.diff.old = "old_str"
edit_file.diff.new = "new_str"
ask_human = "allow"
write_report = "allow"
"""


async def _settled(gateway: Gateway, name: str, place: Place, text: str, before: int) -> None:
    """Wait until the text went over the wire and nothing more comes."""
    quiet = 0
    async with asyncio.timeout(PATIENCE):
        while quiet < QUIET:
            said = any(re.search(text, str(each.body)) for each in place.calls()[before:])
            unsent = await gateway.store.run(outbox.undelivered_threads, name)
            quiet = quiet + 1 if said and not unsent and place.is_quiet() else 0
            await asyncio.sleep(PAUSE)


def _number(written: Iterable[str], sign: str) -> str:
    """The number of the last message with button, options or text."""
    number = last = ""
    for line in written:
        number = found[1] if (found := NUMBER.match(line)) else number
        last = number if sign in line else last
    return last


def _section(calls: Iterable[Call], written: Iterable[str]) -> str:
    shown = [each for each in calls if not READING.match(each.name)]
    text = "\n\n".join(printed_calls(shown))
    picture = "\n".join(_without_filler(written))
    return f"""\
The calls:

~~~~text
{stable(text)}
~~~~

The simulator's own picture, not the platform's:

~~~~text
{stable(picture)}
~~~~
"""


def _without_filler(written: Iterable[str]) -> Iterator[str]:
    """The lines, without most of the numbered paragraphs."""
    held = ""
    for line in written:
        if filled := FILLED.match(line.strip()):
            if not held:
                yield f"      {filled[1]} {FILLER} …"
            held = filled[1]
        elif line.strip() or not held:
            if held:
                yield f"      (up to {held.rstrip('.')})"
            held = ""
            yield line.rstrip()
    if held:
        yield f"      (up to {held.rstrip('.')})"


if __name__ == "__main__":
    logging.disable()  # the scene of the error is meant
    for page, text in asyncio.run(pages()).items():
        page.parent.mkdir(exist_ok=True)
        page.write_text(text, encoding="utf-8")
