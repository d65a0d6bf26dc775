"""views.*: modals on a person's screen, and their Home tab."""

from __future__ import annotations

import json
from typing import Any, cast

from adapters.slack.simulator.blocks import LONGEST_ID, check_blocks, stored_blocks
from adapters.slack.simulator.call import Call, method
from adapters.slack.simulator.errors import ApiError, invalid_arguments
from adapters.slack.simulator.state import Json, View
from adapters.slack.simulator.world import World

TRIGGER_LIFE = 3.0
DEEPEST = 3
LONGEST_TITLE = 24
LONGEST_METADATA = 3_000
MOST_BLOCKS = 100
LARGEST = 250_000
OF_MESSAGES = frozenset({"context_actions", "file", "markdown", "plan", "table", "task_card"})
"""Blocks that messages alone take, by their pages under
https://docs.slack.dev/reference/block-kit/blocks.
"""


@method("views.open", per_minute=100)
def open_(call: Call) -> Json:
    """Show a modal to whom a trigger belongs."""
    body = _body(call)
    user = _trigger(call)
    close_all(call.world, user)
    return _answer(call, add_view(call.world, call.workspace_id, user, body))


@method("views.push", per_minute=100)
def push(call: Call) -> Json:
    """Lay a modal over the one that a trigger came from."""
    body = _body(call)
    user = _trigger(call)
    stack = view_stack(call.world, user)
    if not stack:
        raise ApiError("not_found")
    if len(stack) >= DEEPEST:
        raise ApiError("push_limit_reached")
    return _answer(call, add_view(call.world, call.workspace_id, user, body, below=stack[-1]))


@method("views.update", per_minute=100)
def update(call: Call) -> Json:
    """Change a modal; a stale hash is refused."""
    body = _body(call)
    view = call.world.view(call.text("view_id")) or _external(call)
    if view is None:
        raise ApiError("not_found")
    if (expected := call.text("hash")) and expected != view.hash:
        raise ApiError("hash_conflict")
    change_view(call.world, view, body)
    return _answer(call, view)


@method("views.publish", per_minute=100)
def publish(call: Call) -> Json:
    """Show a person's Home tab, instead of what it was.

    Sources: https://docs.slack.dev/reference/methods/views.publish and
    https://docs.slack.dev/reference/views/home-tab-views.
    """
    user, homes = call.need("user_id"), call.workspace.homes
    body = check_view(call.value("view"), kind="home")
    if user not in call.workspace.users:
        raise invalid_arguments("invalid `user_id`")
    if not call.world.app.home:
        raise ApiError("not_enabled")
    if len(json.dumps(body)) > LARGEST:
        raise ApiError("view_too_large")
    known = homes.get(user)
    if (expected := call.text("hash")) and (known is None or known.hash != expected):
        raise ApiError("hash_conflict")
    if known is None:
        identity = call.world.new_id("V")
        known = View(id=identity, user=user, team=call.workspace_id, body=body, hash="")
        homes[user] = known
    change_view(call.world, known, body)
    return _answer(call, known)


def add_view(
    world: World, workspace: str, user: str, body: Json, *, below: View | None = None
) -> View:
    """A new modal on a person's screen."""
    identity = world.new_id("V")
    view = View(id=identity, user=user, team=workspace, body=body, hash=world.new_id("h"))
    view.root = below.root if below else identity
    view.parent = below.id if below else ""
    world.workspaces[workspace].views[identity] = view
    world.changed()
    return view


def change_view(world: World, view: View, body: Json) -> None:
    """Show something else in a modal."""
    view.body, view.hash = body, world.new_id("h")
    view.errors = {}
    world.changed()


def close_all(world: World, user: str) -> None:
    """Take every modal from a person's screen."""
    for view in view_stack(world, user):
        del world.workspaces[view.team].views[view.id]
    world.changed()


def view_stack(world: World, user: str) -> list[View]:
    """The modals of a person, the visible one last."""
    return [
        view
        for workspace in world.workspaces.values()
        for view in workspace.views.values()
        if view.user == user
    ]


def view_json(world: World, view: View) -> Json:
    """The view object."""
    bot = world.bot(view.team)
    return view.body | {
        "id": view.id,
        "team_id": view.team,
        "app_id": world.app.id,
        "app_installed_team_id": view.team,
        "bot_id": bot.bot_id,
        "state": {"values": view.state},
        "hash": view.hash,
        "root_view_id": view.root or view.id,
        "previous_view_id": view.parent or None,
    }


def check_view(view: object, *, kind: str = "modal") -> Json:
    """A view as it is kept, if Slack would take it."""
    if not isinstance(view, dict):
        raise invalid_arguments("must provide an object [json-pointer:/view]")
    body = cast("Json", view)
    if body.get("type") != kind:
        raise invalid_arguments(f"must be {kind} [json-pointer:/view/type]")
    blocks: Any = body.get("blocks")
    if not isinstance(blocks, list):
        raise invalid_arguments("must be an array [json-pointer:/view/blocks]")
    if wrong := {str(each.get("type")) for each in cast("list[Json]", blocks)} & OF_MESSAGES:
        raise invalid_arguments(f"unsupported type: {min(wrong)} [json-pointer:/view/blocks]")
    if kind == "modal":
        _check_modal(body)
    if len(body.get("private_metadata") or "") > LONGEST_METADATA:
        raise invalid_arguments("must be less than 3001 characters")
    if len(body.get("callback_id") or "") > LONGEST_ID:
        raise invalid_arguments("must be less than 256 characters")
    try:
        check_blocks(cast("list[Json]", blocks), most=MOST_BLOCKS)
    except ApiError as error:
        raise invalid_arguments(*error.body.get("errors", [error.code])) from None
    defaults: Json = {
        "callback_id": "",
        "private_metadata": "",
        "external_id": "",
        "clear_on_close": False,
        "notify_on_close": False,
        "close": None,
        "submit": None,
    }
    texts = {name: _text(body[name]) for name in ("title", "submit", "close") if body.get(name)}
    return defaults | body | texts | {"blocks": stored_blocks(cast("list[Json]", blocks))}


def _text(text: Json) -> Json:
    return {"emoji": True} | text


def _check_modal(body: Json) -> None:
    title: Any = body.get("title")
    if not isinstance(title, dict) or not title.get("text"):
        raise invalid_arguments("missing required field: title [json-pointer:/view]")
    for name in ("title", "submit", "close"):
        text: Any = body.get(name)
        if text is not None and len(text.get("text", "")) > LONGEST_TITLE:
            raise invalid_arguments(f"must be less than 25 characters [json-pointer:/view/{name}]")
    has_input = any(block.get("type") == "input" for block in body["blocks"])
    if has_input and not body.get("submit"):
        raise invalid_arguments("missing required field: submit [json-pointer:/view]")


def _body(call: Call) -> Json:
    return check_view(call.value("view"))


def _trigger(call: Call) -> str:
    """The person whose trigger this is; it is spent by that."""
    trigger = call.world.triggers.get(call.text("trigger_id"))
    if trigger is None or trigger.workspace != call.workspace_id:
        raise ApiError("invalid_trigger_id")
    if trigger.used:
        raise ApiError("exchanged_trigger_id")
    if call.world.clock.time() - trigger.at > TRIGGER_LIFE:
        raise ApiError("expired_trigger_id")
    trigger.used = True
    return trigger.user


def _external(call: Call) -> View | None:
    wanted = call.text("external_id")
    if not wanted:
        return None
    views = call.workspace.views.values()
    return next((view for view in views if view.body.get("external_id") == wanted), None)


def _answer(call: Call, view: View) -> Json:
    return {"view": view_json(call.world, view)}
