"""Answers to requests: permission, time limit, outcome."""

from __future__ import annotations

from gateway.access.authority import Operators
from gateway.access.grants import NARROWEST, grant_scope
from gateway.client import Answer, AnswerKind, chosen
from gateway.conversation import Author
from gateway.render.arguments import folder_text
from gateway.store.decisions import CommandReply, Decision, RequestAnswer, RequestSupport
from gateway.store.records import Request

NO_REQUEST = "There is no such request."
NOT_YOURS = "You may not answer this request."
EMPTY = "Write an answer first."


def decide_answer(
    author: Author, request: Request | None, answer: Answer, operators: Operators, now: float
) -> Decision:
    """Decision on an answer; `request` is None if it does not exist."""
    if request is None:
        return CommandReply(reply=NO_REQUEST)
    if why := why_not(author, request, answer, operators, now):
        return CommandReply(reply=why, late=request.state == "open" and is_over(request, now))
    if answer.kind in NARROWEST and request.quorum > 1:
        return _supported(author, request, answer)
    return RequestAnswer(
        request=request.id,
        answer=answer,
        outcome=_outcome(answer, request),
        grant=grant_scope(answer.kind, request),
    )


def answer_in_words(request: Request, text: str) -> RequestAnswer:
    """The answer that a text is to a question."""
    said = chosen(text, request.options, several=request.kind == "choices")
    answer = Answer(kind="text", text=said)
    return RequestAnswer(request=request.id, answer=answer, outcome=_outcome(answer, request))


def is_approver(author: Author, request: Request | None, operators: Operators) -> bool:
    """True for a named approver, who may decide wherever asked."""
    if request is None or author.id not in request.approvers:
        return False
    return operators.may_answer(author, request)


def is_over(request: Request, now: float) -> bool:
    """True once its time is over, noticed or not."""
    return request.expires_at is not None and request.expires_at <= now


def why_not(
    author: Author, request: Request, answer: Answer, operators: Operators, now: float
) -> str:
    """Why the author can't answer the request so, "" if they can."""
    if request.state != "open":
        return f"This is already settled: {request.outcome}."
    if is_over(request, now):
        return "The request has expired."
    if not operators.may_answer(author, request):
        return NOT_YOURS
    if why := _why_not_granted(author, request, answer, operators):
        return why
    if (request.kind == "approval") != (answer.kind != "text"):
        wanted = "approve or deny" if request.kind == "approval" else "answer it in words"
        return f"This request needs another answer: {wanted}."
    said = answer.kind != "text" or answer.text.strip() or answer.text in request.options
    return "" if said else EMPTY


def _why_not_granted(author: Author, request: Request, answer: Answer, operators: Operators) -> str:
    """Why more than the call can't be approved, "" if it can."""
    if answer.kind == "approve_new":
        if not request.meant:
            return "The tool has not changed; approve the call."
        # It holds for everybody, so the asker of this thread alone does not decide about it.
        if author.id not in request.approvers and not operators.include(author):
            return "Only its approvers and operators may accept a new description."
    elif answer.kind in NARROWEST[1:] and not request.always:
        return "This can't be approved for the whole thread; approve it once."
    if answer.kind == "approve_below" and not request.below:
        return "This call names no folder that could be approved; approve it once."
    return ""


def _supported(author: Author, request: Request, answer: Answer) -> Decision:
    """Decision on one of several approvals; the narrowest holds."""
    approved = len({*request.supporters, author.id})
    if author.id in request.supporters:
        return CommandReply(
            reply=f"You have already approved this ({approved} of {request.quorum} so far)."
        )
    if approved < request.quorum:
        return RequestSupport(
            request=request.id, kind=answer.kind, approved=approved, quorum=request.quorum
        )
    kinds: list[AnswerKind] = [answer.kind, *request.support_kinds]
    kind = min(kinds, key=NARROWEST.index)
    return RequestAnswer(
        request=request.id,
        answer=Answer(kind=kind),
        outcome=_outcome(Answer(kind=kind), request, by=f" by {approved} people"),
        grant=grant_scope(kind, request),
    )


def _outcome(answer: Answer, request: Request, *, by: str = "") -> str:
    match answer.kind:
        case "approve":
            return f"approved{by}"
        case "approve_new":
            return f"approved{by}, and its new description"
        case "approve_same":
            covered = "exactly these arguments"
        case "approve_below":
            covered = folder_text(request.below)
        case "approve_always":
            covered = "any arguments"
        case "deny":
            return f"denied: {answer.text}" if answer.text else "denied"
        case "text":
            return answer.text
    return f"approved for this thread{by}: {covered}"
