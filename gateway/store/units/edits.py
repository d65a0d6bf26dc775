"""Changes of accepted messages: edits, deletions, withdrawals, the mode, and grants."""

from __future__ import annotations

from dataclasses import replace

from gateway.conversation import Author
from gateway.events import ASK, Notice, SessionEvent
from gateway.store.connection import Connection
from gateway.store.decisions import (
    AcceptedMessage,
    ApprovalChange,
    GrantRevocation,
    MessageEdit,
    MessageOffer,
    MessageWithdrawal,
    ModeChange,
    ModelChange,
    MuteChange,
    NoAction,
    QueuePromotion,
    QueueRemoval,
    RepeatedTurn,
)
from gateway.store.records import InboxOutcome
from gateway.store.rulebook import GrantRevoked, MessageFound, MessageMissed
from gateway.store.units import gone, grants, out_of_order, queue, targets
from gateway.store.units.acceptance import Acceptance, is_untrusted, quotes_as_json
from gateway.store.units.events import add_events
from gateway.store.units.files import IS_FOREIGN, attach
from gateway.store.units.rows import MUTED, author_of, quotes_of
from gateway.store.value_rows import update

IGNORED = AcceptedMessage(inbox=0, thread="", lane="", outcome="refused", reply="", decision=None)


def ignore(acceptance: Acceptance, decision: NoAction | MessageOffer) -> AcceptedMessage:
    """Keep nothing of the message."""
    outcome: InboxOutcome = "offered" if isinstance(decision, MessageOffer) else IGNORED.outcome
    return replace(IGNORED, outcome=outcome, decision=decision)


def change(acceptance: Acceptance, decision: MessageEdit) -> AcceptedMessage:
    """Change a message, or offer to run it again."""
    target = _target(acceptance, anybody=decision.anybody)
    message = acceptance.message
    if target is None:
        return _keep_early(acceptance)
    if not targets.is_new(acceptance.connection, target, message):
        return IGNORED
    if targets.is_overtaken(acceptance.connection, target, message):
        return IGNORED
    if not target.waits:
        before, _ = targets.latest(acceptance.connection, target)
        inbox = acceptance.insert(target.thread, "merged", edits=target.inbox)
        if message.keeps_files or message.awaited:
            targets.copy_files(acceptance.connection, before, inbox)
            if message.awaited:
                targets.keep_files(acceptance.connection, inbox, message.awaited)
        else:
            attach(acceptance.connection, inbox, message.attachments, message.missing)
        targets.forget_edits(acceptance.connection, target.inbox, but=inbox)
        offer = acceptance.rulebook.offer(MessageMissed(event="edited", inbox=target.inbox))
        events = targets.offer_again(acceptance.connection, target, offer)
    else:
        inbox = acceptance.insert(target.thread, "merged", edits=target.inbox, keep=False)
        if message.awaited:
            targets.keep_files(acceptance.connection, target.inbox, message.awaited)
        elif not message.keeps_files:
            targets.replace_files(acceptance.connection, target, message)
        acceptance.connection.execute(
            "UPDATE inbox SET text = :text, quotes = :quotes,"
            f" untrusted = :untrusted OR awaits IS NOT NULL OR {IS_FOREIGN} WHERE id = :inbox",
            {
                "text": message.text,
                "quotes": quotes_as_json(message),
                "untrusted": is_untrusted(message),
                "inbox": target.inbox,
            },
        )
        events = targets.show_again(acceptance.connection, target)
    outcome = "waiting" if target.waits else "its turn had begun"
    number = str(target.inbox)
    acceptance.note("message.edited", thread=target.thread, object=number, outcome=outcome)
    return replace(acceptance.accepted(inbox, target.thread, "merged"), events=events)


def _keep_early(acceptance: Acceptance) -> AcceptedMessage:
    """Keep an edit that came before its message, for when that comes."""
    thread, message = acceptance.met.thread, acceptance.message
    connection = acceptance.connection
    if thread is None or thread.muted:  # most of what is changed there was never taken
        return IGNORED
    if message.message_id and not out_of_order.is_known(connection, message):
        out_of_order.keep_edit(connection, message, thread.id, quotes_as_json(message))
    return IGNORED


def cancel(acceptance: Acceptance, decision: MessageWithdrawal) -> AcceptedMessage:
    """Take a deleted message back, as far as that is possible."""
    target = _target(acceptance, anybody=decision.anybody)
    if target is None:
        if decision.anybody and acceptance.message.message_id:
            out_of_order.note_deletion(acceptance.connection, acceptance.message)
        return IGNORED
    by = acceptance.message.author.id
    if not by:  # its platform does not say who
        author = Author(id=target.author, name=target.name)
        acceptance.message = replace(acceptance.message, author=author)
    inbox = acceptance.insert(target.thread, "merged", edits=target.inbox, keep=False)
    events: tuple[SessionEvent, ...] = ()
    stop = ""
    targets.forget_edits(acceptance.connection, target.inbox)
    number, outcome = str(target.inbox), "waiting" if target.waits else "its turn had begun"
    where = {"thread": target.thread, "object": number, "outcome": outcome, "person": by}
    acceptance.note("message.withdrawn", **where)
    taken = queue.withdraw(acceptance.connection, target.thread, target.inbox)
    if taken is not None:
        events = tuple(taken[1])
    else:
        for thread in targets.threads_of(acceptance.connection, acceptance.message):
            gone.note_deletion(acceptance.connection, thread, acceptance.message, inbox)
    if target.is_worked_on and targets.is_only_concern(acceptance.connection, target):
        stop = acceptance.request_stop(target.thread, targets.GONE)
    elif target.is_worked_on:
        offer = acceptance.rulebook.offer(MessageMissed(event="deleted", inbox=target.inbox))
        events = targets.make_offer(acceptance.connection, target, offer)
    return acceptance.accepted(
        inbox, target.thread, "merged", events=events, wake=bool(stop), stop=stop
    )


def _target(acceptance: Acceptance, *, anybody: bool) -> targets.Target | None:
    """The edited or deleted message, if its author or an operator acted."""
    target = targets.find_target(acceptance.connection, acceptance.message)
    if target is None or not (anybody or target.author == acceptance.message.author.id):
        return None
    return target if target.kind == "message" else None


def repeat(acceptance: Acceptance, decision: RepeatedTurn) -> AcceptedMessage:
    """Give the newest edit of a message a turn of its own."""
    thread = acceptance.met.thread
    edit = targets.newest_edit(acceptance.connection, decision.inbox)
    if edit is None or thread is None or edit["thread"] != thread.id:
        return acceptance.reply_fact(MessageFound(outcome="not repeatable", inbox=decision.inbox))
    query = "SELECT * FROM inbox WHERE id = :inbox"
    (target,) = acceptance.connection.fetch(query, {"inbox": decision.inbox})
    author = author_of(target)
    if not decision.anybody and acceptance.message.author.id != author.id:
        return acceptance.reply_fact(MessageFound(outcome="not yours", inbox=decision.inbox))
    acceptance.note("message.repeated", thread=thread.id, object=str(decision.inbox))
    acceptance.message = replace(
        acceptance.message,
        author=author,
        text=edit["text"],
        message_id=target["message_id"],
        link=target["link"],
        quotes=quotes_of(edit["quotes"]),
    )
    acceptance.kind = "message"
    accepted = acceptance.enqueue(decision.enqueue)
    targets.repeat(acceptance.connection, decision.inbox, edit, accepted.inbox)
    return accepted


def rearrange(acceptance: Acceptance, decision: QueueRemoval | QueuePromotion) -> AcceptedMessage:
    """Withdraw a waiting message, or let it come first."""
    thread = acceptance.met.thread
    author = thread and queue.author_of_waiting(acceptance.connection, thread.id, decision.inbox)
    if thread is None or author is None:
        return acceptance.reply_fact(MessageFound(outcome="not waiting", inbox=decision.inbox))
    if not decision.anybody and author != acceptance.message.author.id:
        return acceptance.reply_fact(MessageFound(outcome="not yours", inbox=decision.inbox))
    if isinstance(decision, QueuePromotion):
        queue.put_first(acceptance.connection, thread.id, decision.inbox)
        acceptance.note("message.promoted", thread=thread.id, object=str(decision.inbox))
        return acceptance.reply_fact(MessageFound(outcome="comes first", inbox=decision.inbox))
    acceptance.note("message.withdrawn", thread=thread.id, object=str(decision.inbox))
    taken = queue.withdraw(acceptance.connection, thread.id, decision.inbox)
    accepted = acceptance.reply_fact(MessageFound(outcome="taken back", inbox=decision.inbox))
    return replace(accepted, events=tuple(taken[1]) if taken else ())


def set_mode(acceptance: Acceptance, decision: ModeChange) -> AcceptedMessage:
    """Change the mode of the thread."""
    thread = acceptance.there.id
    _put_mode(acceptance.connection, thread, decision.mode, muted=acceptance.there.muted)
    acceptance.note("thread.mode_changed", thread=thread, object=decision.mode)
    steer = queue.open_turn(acceptance.connection, thread) if decision.mode == "steer" else ""
    return replace(
        acceptance.closed("command", reply=decision.reply),
        steer=steer,
        wake=acceptance.met.status is None and acceptance.met.waiting > 0,
        delay=decision.quiet,
    )


def set_mute(acceptance: Acceptance, decision: MuteChange) -> AcceptedMessage:
    """Mute the thread, or let it answer again."""
    connection, thread = acceptance.connection, acceptance.there
    _put_mode(connection, thread.id, thread.mode, muted=decision.muted)
    acceptance.note("thread.muted" if decision.muted else "thread.unmuted", thread=thread.id)
    notice = Notice(
        thread=thread.id,
        text=decision.notice,
        command=decision.command,
        label=decision.label,
        over=decision.over,
    )
    events = add_events(connection, thread.id, [notice])
    return replace(acceptance.closed("command", reply=""), events=events)


def set_model(acceptance: Acceptance, decision: ModelChange) -> AcceptedMessage:
    """Change the model of the thread's agents."""
    connection, thread = acceptance.connection, acceptance.there.id
    update(connection, "threads", thread, model=decision.model)
    acceptance.note("thread.model_changed", thread=thread, object=decision.model)
    events = add_events(connection, thread, [Notice(thread=thread, text=decision.notice)])
    return replace(acceptance.closed("command", reply=""), events=events)


def set_approval(acceptance: Acceptance, decision: ApprovalChange) -> AcceptedMessage:
    """Change the thread's mode of approval."""
    connection, thread, message = acceptance.connection, acceptance.there.id, acceptance.message
    mode = "" if decision.approval == ASK else decision.approval
    grants.set_mode(connection, thread, mode, message.author, message.key)
    notice = Notice(thread=thread, text=decision.notice, approval=decision.approval)
    events = add_events(connection, thread, [notice])
    return replace(acceptance.closed("command", reply=""), events=events)


def _put_mode(connection: Connection, thread: str, mode: str, *, muted: bool) -> None:
    update(connection, "threads", thread, mode=f"{MUTED}{mode}" if muted else mode)


def revoke(acceptance: Acceptance, decision: GrantRevocation) -> AcceptedMessage:
    """End approvals of a tool in the thread."""
    thread, message = acceptance.met.thread, acceptance.message
    revoked = thread is not None and grants.revoke(
        acceptance.connection,
        thread.id,
        decision.tool,
        message.author,
        message.key,
        anybody=decision.anybody,
    )
    accepted = acceptance.reply_fact(GrantRevoked(tool=decision.tool, revoked=revoked))
    return replace(accepted, revoked=decision.tool if revoked else "")
