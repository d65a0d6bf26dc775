"""Forms of requests: who gets one, and what it asks."""

from __future__ import annotations

from gateway.access.authority import Judgement, Operators
from gateway.adapter import NOT_ALLOWED
from gateway.client import Answer
from gateway.inbound.answers import NO_REQUEST, is_approver, why_not
from gateway.interactions import FormKind, FormOpening, FormSpec
from gateway.render.plain_words import without_marks
from gateway.render.sanitize import sanitize
from gateway.store.records import Request

TITLES = {"note": "Deny with a note", "text": "Your answer", "reason": "A bad answer"}
LABELS = {"note": "Reason, for the team", "text": "Answer", "reason": "What is wrong with it?"}
SEND = {"note": "Deny", "text": "Send", "reason": "Send"}
ANY = {"note": Answer(kind="deny"), "text": Answer(kind="text", text="any")}


def form_of(
    opening: FormOpening, request: Request | None, who: Judgement, operators: Operators, now: float
) -> FormSpec | str:
    """The form for who may send it, or why not."""
    if not (who.may_write or is_approver(who.author, request, operators)):
        return NOT_ALLOWED
    kind = opening.kind
    if kind == "reason":
        return _spec(opening.request, kind)
    if request is None:
        return NO_REQUEST
    if why := why_not(who.author, request, ANY[kind], operators, now):
        return why
    return _spec(request.id, kind, without_marks(sanitize(request.prompt)))


def _spec(request: str, kind: FormKind, prompt: str = "") -> FormSpec:
    return FormSpec(
        request=request,
        kind=kind,
        title=TITLES[kind],
        prompt=prompt,
        label=LABELS[kind],
        send=SEND[kind],
        required=kind == "text",
    )
