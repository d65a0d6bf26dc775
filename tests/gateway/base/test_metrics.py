"""Figures of turns, models and tools, and the number of series."""

import re

from gateway.access.authority import Access, Admission
from gateway.control.metrics_page import metrics_page
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.gateway import Gateway
from teams.models import ModelUnavailable
from teams.models.replay import ReplayChatCompletionClient
from tests.fakes.new_store import new_store
from tests.gateway.scripted import CAN_CALL, ScriptedTeams, calls, ends, model, solo, turn, until


async def page_of(gateway: Gateway) -> list[str]:
    status = await gateway.client.status()
    return metrics_page(gateway.vitals, status, gateway.store.folder, None).decode().splitlines()


def samples(page: list[str], name: str) -> dict[str, float]:
    found = (re.fullmatch(rf"parley_{name}(\{{.*\}})? (\S+)", line) for line in page)
    return {each[1] or "": float(each[2]) for each in found if each}


class Everybody(Access):
    """Everybody may write."""

    def judge(self, message):
        return Admission()


class Failing(ReplayChatCompletionClient):
    """A model that fails once."""

    failed = False

    async def create(self, *arguments, **options):
        if not self.failed:
            self.failed = True
            raise ModelUnavailable("not now")
        return await super().create(*arguments, **options)


async def lookup(word: str) -> str:
    """Look a word up."""
    if word == "bad":
        raise ValueError("no such word")
    return "found"


async def test_tools_are_counted_by_name_and_outcome_and_invented_ones_without(tmp_path):
    client = model(
        calls("lookup", lookup='{"word": "good"}'),
        calls("lookup", lookup='{"word": "bad"}'),
        calls("a tool of my own"),
        "Done.",
    )
    teams = ScriptedTeams(lambda: solo(client, tools=[lookup]))
    async with Gateway(new_store(tmp_path), teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "go")
        page = await page_of(gateway)
    assert samples(page, "tool_calls_total") == {
        '{outcome="done",tool="lookup"}': 1.0,
        '{outcome="failed",tool="lookup"}': 1.0,
        '{outcome="failed",tool="unknown"}': 1.0,
    }
    assert samples(page, "first_text_seconds_count") == {'{team="demo"}': 1.0}
    assert samples(page, "turn_seconds_count") == {'{team="demo"}': 1.0}
    [answers] = samples(page, "model_seconds_count").values()
    assert answers == 3.0  # the text counts as one out of a cache
    assert samples(page, "commit_seconds_count")[""] > 0


async def test_a_models_errors_are_counted_by_kind_and_what_follows_as_a_retry(tmp_path):
    client = Failing(["Now."], model_info=CAN_CALL)
    async with Gateway(new_store(tmp_path), ScriptedTeams(lambda: solo(client))) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "go")
        await turn(gateway, thread, "/retry")
        page = await page_of(gateway)
    [(labels, failed)] = samples(page, "model_errors_total").items()
    assert 'kind="ModelUnavailable"' in labels
    assert failed == 1.0


MANY_THREADS = """
    WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 10000)
    INSERT INTO threads (id, key, team, definition, created_at, updated_at)
    SELECT 'thread' || n, 'local:' || n, 'demo', '', 0, 0 FROM n
"""


async def test_ten_thousand_threads_of_many_people_add_no_series(tmp_path):
    store = new_store(tmp_path)
    teams = ScriptedTeams(lambda: solo("Yes."))
    async with Gateway(store, teams, access=Everybody()) as gateway:

        async def say(person: str) -> None:
            key = ConversationKey(platform="x", root=person)
            author = Author(id=f"x:{person}", name=person)
            sent = await gateway.accept(
                InboundMessage(key=key, author=author, text=f"I am {person}")
            )
            await until(gateway, sent.thread, ends)

        await say("ann")
        first = await page_of(gateway)
        await store.write(lambda connection: connection.execute(MANY_THREADS))
        for n in range(20):
            await say(f"person{n}")
        last = await page_of(gateway)
    assert [line.rpartition(" ")[0] for line in last] == [line.rpartition(" ")[0] for line in first]
    assert samples(last, "threads") == {'{state="idle"}': 10_021.0}
    assert samples(last, "turn_seconds_count") == {'{team="demo"}': 21.0}
