"""Shared by tests of what a message means: requests and situations."""

from typing import Any

from gateway.access.authority import Access, Admission
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.events import RequestKind
from gateway.inbound.policy import usual_rules
from gateway.store.records import Request, Situation, Thread

ASKER, OTHER = Author(id="x:asker", name="Ann"), Author(id="x:other", name="Bob")
KEY = ConversationKey(platform="x", root="1")


class Everybody(Access):
    def judge(self, message):
        return Admission()


def request(kind: RequestKind = "text", number=1, **more) -> Request:
    return Request(
        id=f"{number:012x}",
        engine_id=f"e{number}",
        thread="t",
        turn="u",
        kind=kind,
        agent=("a",),
        prompt="Well?",
        asked_at=9_000.0,
        asker=ASKER.id,
        **more,
    )


def situation(*requests: Request, named=None, status=None, **more) -> Situation:
    thread = Thread(id="t", title="", team="demo", state="idle", updated_at=0.0, key=KEY)
    status = status or ("waiting" if requests else None)
    values: dict[str, Any] = {
        "thread": thread,
        "waiting": 0,
        "asker": ASKER.id,
        "told": None,
        **more,
    }
    return Situation(status=status, requests=requests, named=named, **values)


def meaning(text, at: Situation, author=ASKER, access=None, **more):
    message = InboundMessage(key=KEY, author=author, text=text, **more)
    return usual_rules(message, access or Everybody(), now=10_000.0).decide(at)


TEXT, OPEN = request(), request("approval", 2)
CHOICE = request("choice", 3, options=("Small", "Large"))
