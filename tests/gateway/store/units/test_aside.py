"""Texts that a team can read on in."""

import json

import pytest

from gateway.conversation import Attachment, Quote
from gateway.events import Notice
from gateway.store.decisions import AsideDrop, MessageWithdrawal, TurnRetry
from gateway.store.records import CallRow, Checkpoint
from gateway.store.turn_records import AsideChoice, TurnEnd, TurnUpdate
from gateway.store.units import aside
from tests.fakes.new_store import new_store
from tests.gateway.store.talk import KEY, begin, begun, place, take

pytestmark = pytest.mark.usefixtures("database")

FILE = Attachment(name="a.txt", media_type="text/plain", data=b"a file")
SAVED = Checkpoint(kind="snapshot", data=b"state")
RESULT = json.dumps(
    {
        "name": "look",
        "result": [
            {"type": "TextResultContent", "content": "first"},
            {"type": "ImageResultContent", "content": "AA=="},
            {"type": "TextResultContent", "content": "second"},
        ],
    }
)


async def test_a_file_is_a_message_a_foreign_text_with_it_or_a_result(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        quotes = (Quote(text="a quote"),)
        work = await begun(store, "my words", quotes=quotes, attachments=(FILE,))
        (message,) = work.messages
        call = CallRow(
            key="batch:0",
            agent=("solo",),
            tool="look",
            arguments_hash="h",
            status="finished",
            result=RESULT,
        )
        await store.record(work.lease, TurnUpdate(calls=(call,)))
        waiting = await take(store, "not told yet")
        other = await begun(store, "elsewhere", thread="o", key=place("2"))
        names = {
            f"message-{message.inbox}.txt": "my words",
            f"message-{message.inbox}-1.txt": "a quote",
            f"message-{message.inbox}-2.txt": "a file",
            "result-batch:0.txt": "first\nsecond",
            f"message-{message.inbox}-3.txt": None,
            f"message-{waiting.inbox}.txt": None,
            f"message-{other.messages[0].inbox}.txt": None,
            f"message-{10**14}.txt": None,
            "message-\u0661.txt": None,
            "result-batch:1.txt": None,
            "../secrets": None,
        }
        found = {name: await store.run(aside.kept_text, "t", name) for name in names}
        elsewhere = await store.run(aside.kept_text, "o", "result-batch:0.txt")
    assert found == names
    assert elsewhere is None


@pytest.mark.parametrize("behind", [0, 1], ids=["a page", "a page of a page"])
async def test_no_result_gives_a_page_of_a_deleted_message(tmp_path, behind):
    def result(text: str) -> str:
        return json.dumps({"result": [{"type": "TextResultContent", "content": text}]})

    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store, "CANARY", number="1")
        await begun(store, "stays", number="2", thread="o", key=place("2"))
        (message,) = work.messages
        pages = {
            "a": ("read_more", f"message-{message.inbox}.txt"),
            "b": ("read_more", "result-a.txt"),
            "of another": ("read_more", "result-look.txt"),
            "imitated": ("own", f"message-{message.inbox}.txt"),
        }
        rows = [("look", "own", "found")]
        for key, (tool, of) in pages.items():
            rows.append((key, tool, aside.PAGE.format(file=of, text="...")))
        calls = tuple(
            CallRow(
                key=key,
                agent=("solo",),
                tool=tool,
                arguments_hash="h",
                status="settled",
                result=result(text),
            )
            for key, tool, text in rows
        )
        end = TurnEnd(status="done", reason="")
        await store.record(work.lease, TurnUpdate(calls=calls, end=end))
        file = f"result-{'ab'[behind]}.txt"
        assert (await store.run(aside.kept_text, "t", file) or "").endswith("...")
        keys = (KEY.dedupe("delete", "1"),)
        gone = MessageWithdrawal(anybody=False)
        await take(store, "", gone, kind="edit", dedupe=keys, message_id="1", event="delete")
        assert await store.run(aside.kept_text, "t", file) is None
        for kept in ("look", "of another", "imitated"):
            assert await store.run(aside.kept_text, "t", f"result-{kept}.txt")


async def test_a_choice_holds_until_the_team_is_told(tmp_path):
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store)
        notice = Notice(thread="t", turn=work.lease.turn, text="", aside="result", agent="ann")
        end = TurnEnd(status="failed", reason="")
        await store.record(work.lease, TurnUpdate(events=(notice,), end=end))
        assert not await store.run(aside.is_attached, "t")
        accepted = await take(
            store, "/aside attach", TurnRetry(reply="", command="/aside attach", notice=".")
        )
        again = await begin(store)
        resumed = await begin(store)
        choice = AsideChoice(inbox=accepted.inbox, kind="result", way="attach", agent="ann")
        assert again.aside == resumed.aside == choice
        await store.record(
            resumed.lease, TurnUpdate(joined=(accepted.inbox,), checkpoints=(SAVED,))
        )
        assert (await begin(store)).aside is None
        assert await store.run(aside.is_attached, "t")
        assert not await store.run(aside.is_attached, "o")


@pytest.mark.parametrize("then", ["attach", "drop"])
async def test_another_choice_takes_the_place_of_one_that_failed(tmp_path, then):
    store = new_store(tmp_path)
    async with store.own():
        work = await begun(store)
        offer = Notice(thread="t", turn=work.lease.turn, text="", aside="message")
        failed = TurnUpdate(events=(offer,), end=TurnEnd(status="failed", reason=""))
        await store.record(work.lease, failed)
        await take(store, "/aside", TurnRetry(reply="", command="/aside summarise", notice="."))
        await store.record((await begin(store)).lease, failed)
        if then == "attach":
            await take(store, "/aside", TurnRetry(reply="", command="/aside attach", notice="."))
        else:
            await take(store, "/aside drop", AsideDrop(notice="."))
            await take(store, "/retry", TurnRetry(reply=""))
        again = await begin(store)
        assert ("drop" if again.aside is None else again.aside.way) == then
