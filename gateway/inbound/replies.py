"""Replies to commands, and those that only the store's facts make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gateway.budgets.usage import UsageRules
from gateway.events import AsideWay
from gateway.render.sanitize import sanitize
from gateway.store.records import Memo, MemoScope
from gateway.store.rulebook import (
    Fact,
    GrantRevoked,
    MemosFound,
    MessageFound,
    MessageMissed,
    Offer,
    UsageFound,
)

WORKING = "The team is already working."
NOTHING_SAID = "There are no messages here yet."
HOW_FORK = "Use /fork, or /fork N without the last N turns."
FULL_OF_FORKS = "You have begun as many turns and forks as you may within ten minutes. Try later."
FORKED = "A copy of this thread begins in a new message here. This thread stays as it is."
FORKED_HERE = "This conversation goes on in a copy of the thread."
NOT_MUTABLE = "You are the only person here, so you can't mute the team."
MUTE_IN_THREAD = "Use /{name} in the thread that you mean."
MUTED = (
    "This thread is muted: until somebody unmutes it, the team answers only messages that mention "
    "it by name. Commands and buttons still work."
)
UNMUTED = "This thread is no longer muted."
HOW_MEMORY = "Use /memory, /memory forget N or /memory forget all."
ASIDE_REPLIES: Mapping[AsideWay, str] = {
    "summarise": "It is being summarised.",
    "attach": "It is attached: the model gets its beginning and end; with tools it reads on.",
    "drop": "It is dropped: the thread goes on without it.",
}
NOT_ASIDE = "No text is set aside here: none was too long for the model."
DECIDED = "This is already decided."
HOW_ASIDE = "Use /aside summarise, /aside attach or /aside drop."
HOW_QUEUE = "Use /queue drop N, /queue first N, or /queue mode NAME."

REVOKED = "{tool} needs approval again before it runs."
NOT_GRANTED = "{tool} has no approval of yours in this thread. /grants lists approvals."

NO_MEMORY = "The team remembers no facts about you."
FORGET = "/memory forget N deletes an entry, /memory forget all every one."
MORE = "/memory {page} shows more."
DELETED = "Entries deleted: {count}. Your messages stay in their threads; /forget deletes a thread."

PAGE = 1_500
"""Characters of entries in one reply, as Discord counts; it shows 2,000."""

SCOPES: Mapping[MemoScope, str] = {
    "thread": "told in one thread",
    "person": "told to you",
    "team": "told to everybody",
    "workspace": "told to everybody in this workspace",
}


def with_forks(forks: int) -> str:
    """The forks that are deleted with a thread, behind its name."""
    return f" and its {f'{forks} forks' if forks > 1 else 'fork'}" if forks else ""


def reply_to(fact: Fact, usage: UsageRules) -> str:
    """The sentences that a command's sender is told."""
    match fact:
        case UsageFound():
            return usage.text(fact)
        case MessageFound():
            return _about(fact)
        case GrantRevoked(tool=tool, revoked=revoked):
            return (REVOKED if revoked else NOT_GRANTED).format(tool=tool)
        case MemosFound():
            return _memory(fact)


def _memory(found: MemosFound) -> str:
    """A page of the sender's entries; the last, beyond it."""
    said = "" if found.deleted is None else DELETED.format(count=found.deleted)
    pages = list(_pages([_memo(each) for each in found.memos])) or [[NO_MEMORY]]
    at = min(max(found.page, 1), len(pages))
    more = MORE.format(page=at + 1) if at < len(pages) else ""
    hint = f"{FORGET} {more}" if found.memos else ""
    return "\n".join(filter(None, (said, *pages[at - 1], hint.rstrip())))


def _memo(memo: Memo) -> str:
    """A line with an entry as code, in which nothing acts."""
    text = " ".join(sanitize(memo.text).split()).replace("`", "'")
    return f"{memo.id}  `{text}` ({memo.team}, {SCOPES[memo.scope]})"


def _pages(lines: Iterable[str]) -> Iterator[list[str]]:
    page: list[str] = []
    for line in lines:
        if page and len("\n".join([*page, line]).encode("utf-16-le")) > 2 * PAGE:
            yield page
            page = []
        page.append(line)
    if page:
        yield page


def _about(found: MessageFound) -> str:
    match found.outcome:
        case "not yours":
            return "That message is not yours."
        case "not waiting":
            return f"No message with the number {found.inbox} is waiting here. /queue lists them."
        case "taken back":
            return f"Message {found.inbox} is withdrawn."
        case "comes first":
            return f"Message {found.inbox} comes next."
        case "not repeatable":
            return "This message can't run again: it has run already, or was withdrawn."


def offer_after(missed: MessageMissed) -> Offer:
    """The command that is offered after a change which came too late."""
    match missed.event:
        case "edited":
            return Offer(
                text="A message was edited after the team had received it.",
                command=f"/again {missed.inbox}",
                label="Run it again",
            )
        case "deleted":
            return Offer(
                text="The message that the team works on was deleted.",
                command="/stop",
                label="Stop",
            )
