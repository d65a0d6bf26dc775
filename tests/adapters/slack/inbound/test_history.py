"""A thread, read while somebody waits."""

from __future__ import annotations

from typing import Any, cast

from adapters.slack.inbound.history import MOST_EARLIER, History, HistoryExcerpt, quotes_of
from adapters.slack.inbound.parsed import Draft
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.errors import GatewayError
from gateway.visible import VisibleContent

KEY = ConversationKey(platform="slack", workspace="T1", channel="C1", root="1.0")
MESSAGE = InboundMessage(key=KEY, author=Author(id="slack:T1:U1"), message_id="9.0")


class Rates:
    """Slack's replies of a thread, in pages; none where it refuses."""

    def __init__(self, *pages: list[str], refuses: bool = False) -> None:
        self.pages = pages
        self.refuses = refuses
        self.asked: list[dict[str, Any]] = []

    async def read(self, team: str, method: str, **arguments: Any) -> dict[str, Any]:
        self.asked.append(arguments)
        if self.refuses:
            raise GatewayError
        at = int(arguments["cursor"] or 0)
        more = str(at + 1) if at + 1 < len(self.pages) else ""
        return {
            "messages": [{"ts": ts, "text": ts} for ts in self.pages[at]],
            "response_metadata": {"next_cursor": more},
        }


async def test_a_thread_is_read_page_by_page_each_message_once() -> None:
    rates = Rates(["1.0", "2.0"], ["1.0", "3.0"])
    found = await History(cast("Any", rates)).read(KEY, after="0.5")
    assert found is not None
    assert ([each["ts"] for each in found.messages], found.whole) == (["1.0", "2.0", "3.0"], True)
    assert [each["oldest"] for each in rates.asked] == ["0.5", "0.5"]
    assert await History(cast("Any", Rates(refuses=True))).read(KEY, after="0") is None


async def test_what_stood_before_a_message_is_read_up_to_it() -> None:
    rates = Rates(["1.0", "2.0"])
    found = await History(cast("Any", rates)).before(MESSAGE)
    assert found is not None
    assert [each["ts"] for each in found.messages] == ["1.0", "2.0"]
    assert rates.asked[0]["latest"] == "9.0"


def test_an_excerpt_is_quoted_with_what_is_left_out() -> None:
    def draft(text: str, *, reply: bool) -> Draft:
        return Draft(message=MESSAGE, user="U1", in_thread=reply, content=VisibleContent(text=text))

    said = [draft("root", reply=False), *(draft(str(n), reply=True) for n in range(MOST_EARLIER))]
    quotes = quotes_of(HistoryExcerpt((), whole=False), said)
    assert [kind for kind, _ in quotes[:2]] == ["root", "history"]
    assert quotes[1][1].text == "(1 messages after this one are left out.)"
    assert quotes[-1][1].text == "(Later messages in the thread could not be read.)"
    [(_, unread)] = quotes_of(None, ())
    assert unread.text == "(Earlier messages in the thread could not be read.)"
