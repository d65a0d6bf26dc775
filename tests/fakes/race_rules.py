"""Rules of a race: decisions by chance, where a situation lets them."""

from __future__ import annotations

from gateway.client import Answer
from gateway.conversation import (
    Attachment,
    Author,
)
from gateway.store.decisions import (
    CommandReply,
    Decision,
    GrantRevocation,
    MemoReply,
    MessageEdit,
    MessageRefusal,
    MessageWithdrawal,
    ModeChange,
    MuteChange,
    NewConversation,
    QueueEntry,
    QueuePromotion,
    QueueRemoval,
    RepeatedTurn,
    RequestAnswer,
    RequestSupport,
    ThreadDeletion,
    TurnRetry,
    TurnStop,
)
from gateway.store.records import (
    Request,
    Situation,
)
from gateway.store.rulebook import SortedFiles
from gateway.values import value
from tests.fakes.decided import Decided

PEOPLE = [Author(id=f"p{n}", name=f"P{n}", kind="bot" if n == 3 else "member") for n in range(4)]


@value
class Chance(Decided):
    """Decides what its sender wants, where the situation lets it."""

    wish: str = "say"
    pick: int = 0
    mode: str = "queue"

    def decide(self, situation: Situation) -> Decision:
        """Decide as the gateway might."""
        if self.wish == "say":
            if situation.deleted or situation.repeated:
                return MessageRefusal(reason="deleted" if situation.deleted else "sent twice")
            mode = situation.thread.mode if situation.thread else "queue"
            return QueueEntry(mode=mode, rule="routes[0]")
        if self.wish == "answer":
            return self._answer(situation)
        return self._command(situation)

    def _answer(self, situation: Situation) -> Decision:
        request = situation.named
        if request is None or request.state != "open":
            return CommandReply(reply="late", late=True)
        known = len(request.supporters)
        yes = Answer(kind="approve_always" if self.pick % 2 else "approve")
        if known + 1 < request.quorum:
            if PEOPLE[self.pick % 3].id in request.supporters:
                return CommandReply(reply="again")
            return RequestSupport(
                request=request.id, kind=yes.kind, approved=known + 1, quorum=request.quorum
            )
        grant = "" if yes.kind == "approve_always" else None
        return RequestAnswer(request=request.id, answer=yes, outcome="approved", grant=grant)

    def _command(self, situation: Situation) -> Decision:
        waits = [each.inbox for each in situation.queue]
        number = waits[self.pick % len(waits)] if waits else self.pick
        found: dict[str, Decision] = {
            "edit": MessageEdit(anybody=False),
            "delete": MessageWithdrawal(anybody=True),
            "new": NewConversation(reply="new"),
            "withdraw": QueueRemoval(inbox=number, anybody=True),
            "promote": QueuePromotion(inbox=number, anybody=True),
            "memos": MemoReply(delete=0),
            "revoke": GrantRevocation(tool="tool", anybody=True),
        }
        if situation.thread is not None:
            found["forget"] = ThreadDeletion(reply="gone")
            found["mode"] = ModeChange(mode=self.mode, reply="mode")
            found["mute"] = MuteChange(muted=bool(self.pick % 2), notice="muted")
            found["again"] = RepeatedTurn(inbox=self.pick, anybody=True)
            if situation.status is not None:
                found["stop"] = TurnStop()
            elif situation.last in ("failed", "interrupted"):
                found["retry"] = TurnRetry(reply="again")
        return found.get(self.wish, CommandReply(reply="nothing"))


class AnyRules:
    """Rules about files and due requests."""

    def sort(self, held: int) -> SortedFiles:
        file = Attachment(name="late", media_type="text/plain", data=b"late")
        return SortedFiles(taken=(file,), missing=(), notice="here")

    def who_may_answer(self, request: Request) -> tuple[str, ...]:
        return ()

    def reminder(self, request: Request, age: float) -> str:
        return "still open"

    def expired(self, request: Request) -> tuple[str, Answer]:
        return "expired", Answer(kind="deny")
