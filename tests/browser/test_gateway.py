"""A web surfer in a thread: approvals, restarts, files, rules."""

from pathlib import Path
from textwrap import dedent

from gateway.app.load import load_config
from gateway.client import Answer
from gateway.events import FileMade, InputRequested, MessageFinished, ToolFinished
from gateway.factory.teams import TeamFactory
from gateway.gateway import Gateway
from tests.browser.site import Site
from tests.fakes.new_store import new_store
from tests.fakes.openai_script import Call, Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.gateway.scripted import ends, of, turn, until

CONFIG = """
[models.m]
provider = "openai"
model = "gpt-4o"
base_url = "{model}"
api_key = "key"
[teams.web]
type = "round_robin"
max_turns = 1
agents.surfer = {{ type = "web_surfer", start_page = "{page}" }}
[policies.http]
private_hosts = ["127.0.0.1"]
[policies.tools]
default = "allow"
"""
PRESS = {"reasoning": "It is asked for.", "target_id": 14}


def source(folder: Path, model: FakeOpenAI, site: Site, config: str = CONFIG) -> TeamFactory:
    text = dedent(config).format(model=model.url, page=site.url())
    (folder / "config.toml").write_text(text)
    loaded = load_config(folder / "config.toml")
    return TeamFactory(loaded.config, loaded.imports, start_folder=folder)


def pressing() -> Reply:
    return Reply(calls=[Call(name="click", arguments=PRESS)])


async def test_a_click_waits_for_approval_and_names_its_element(
    tmp_path: Path, site: Site, openai_server: FakeOpenAI
):
    openai_server.script(pressing())
    teams = source(tmp_path, openai_server, site)
    async with Gateway(new_store(tmp_path / "store"), teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        # Allowed by the policy; but a page has been read, and might have asked for it.
        events = await turn(gateway, thread, "Press the button.")
        [asked] = of(InputRequested, events)
        assert "Press me" in str(asked)
        after = (await gateway.client.thread(thread)).last_seq
        await gateway.client.answer(asked.request, Answer(kind="approve"))
        events = await until(gateway, thread, ends, after)
        [said] = of(MessageFinished, events)
        assert said.text.startswith('I clicked button "Press me".')
        assert "\nclicked\n" in said.text
        [picture] = of(FileMade, events)
        assert picture.path.endswith(".jpg")
    await teams.aclose()


async def test_after_a_restart_nothing_is_clicked_and_the_page_is_opened_again(
    tmp_path: Path, site: Site, openai_server: FakeOpenAI
):
    openai_server.script(pressing(), Reply(text="The session is gone."))
    teams = source(tmp_path, openai_server, site)
    async with Gateway(new_store(tmp_path / "store"), teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        [asked] = of(InputRequested, await turn(gateway, thread, "Press the button."))
    async with Gateway(new_store(tmp_path / "store"), teams) as gateway:
        after = (await gateway.client.thread(thread)).last_seq
        await gateway.client.answer(asked.request, Answer(kind="approve"))
        events = await until(gateway, thread, ends, after)
        [clicked] = of(ToolFinished, events)
        assert clicked.failed
        assert "No page is open" in clicked.result
        events = await turn(gateway, thread, "And now?")
        [opened] = of(ToolFinished, events)
        assert "cookies, filled-in forms" in opened.result
    await teams.aclose()


async def test_the_policy_for_the_network_holds(
    tmp_path: Path, site: Site, openai_server: FakeOpenAI
):
    none = CONFIG.replace('private_hosts = ["127.0.0.1"]', "private_hosts = []")
    teams = source(tmp_path, openai_server, site, none)
    openai_server.script(Reply(text="Nothing."))
    async with Gateway(new_store(tmp_path / "store"), teams) as gateway:
        events = await turn(gateway, (await gateway.client.create_thread()).id, "Look.")
        [opened] = of(ToolFinished, events)
        assert "private network" in opened.result
        assert site.asked == []
    await teams.aclose()
