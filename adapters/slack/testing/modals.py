"""A person's modals and Home tab, with their buttons and menus."""

from __future__ import annotations

from typing import Any

from adapters.slack.simulator.deliveries import Delivery
from adapters.slack.simulator.errors import ApiError
from adapters.slack.simulator.methods.views import (
    add_view,
    change_view,
    check_view,
    close_all,
    view_json,
    view_stack,
)
from adapters.slack.simulator.state import Json, User, View
from adapters.slack.simulator.world import World


class Modals:
    """The part of a person that has to do with modals."""

    def __init__(self, world: World, user: User) -> None:
        self._world = world
        self._user = user

    @property
    def modal(self) -> View | None:
        """The open modal with its `errors`; None if there is none."""
        stack = view_stack(self._world, self._user.id)
        return stack[-1] if stack else None

    async def submits(self, values: dict[str, str | list[str]] | None = None) -> Delivery:
        """Fill in fields by block_id, action_id or label, and submit.

        A menu takes the value or label of its option. What the app answers is done once it came.
        Raises LookupError where there is no modal, or no such field.
        """
        view = self._open()
        for name, value in (values or {}).items():
            _fill(view, name, value)
        for block in view.body["blocks"]:
            if block.get("type") == "input":
                state = view.state.setdefault(block["block_id"], {})
                element = block["element"]
                state.setdefault(element["action_id"], {"type": element["type"], "value": None})
        payload = self._interaction("view_submission") | {
            "view": view_json(self._world, view),
            "response_urls": [],
        }
        return self._interact(payload, view)

    async def closes(self, *, all_of_them: bool = False) -> Delivery | None:
        """Close the modal; the app is told if it asked for that."""
        view = self._open()
        notified = view.body.get("notify_on_close")
        payload = self._interaction("view_closed") | {
            "view": view_json(self._world, view),
            "is_cleared": all_of_them,
        }
        del payload["trigger_id"]
        if all_of_them:
            close_all(self._world, self._user.id)
        else:
            self._remove(view)
        return self._interact(payload) if notified else None

    @property
    def home(self) -> View | None:
        """Their Home tab; None while the app has published none."""
        return self._world.workspaces[self._user.team].homes.get(self._user.id)

    async def clicks_in_modal(self, button: str) -> Delivery:
        """Press a button inside the modal."""
        return await self._click(self._open(), button)

    async def clicks_at_home(self, button: str) -> Delivery:
        """Press a button on their Home tab.

        See https://docs.slack.dev/reference/interaction-payloads/block_actions-payload: it comes
        from no channel, and has no response_url.
        """
        if self.home is None:
            raise LookupError(f"{self._user.name} has no Home tab")
        return await self._click(self.home, button)

    async def _click(self, view: View, button: str) -> Delivery:
        element, block = find_element(view.body["blocks"], button)
        payload = self._interaction("block_actions") | {
            "container": {"type": "view", "view_id": view.id},
            "view": view_json(self._world, view),
            "actions": [self._action(element, block, button)],
        }
        return self._interact(payload)

    def _open(self) -> View:
        if (view := self.modal) is None:
            raise LookupError(f"{self._user.name} has no modal open")
        return view

    def _interaction(self, kind: str) -> Json:
        """Fields that all of this person's interactions have."""
        workspace = self._world.workspaces[self._user.team]
        return {
            "type": kind,
            "user": {
                "id": self._user.id,
                "username": self._user.name,
                "name": self._user.name,
                "team_id": self._user.team,
            },
            "api_app_id": self._world.app.id,
            "token": "simulated-verification-token",
            "trigger_id": self._world.trigger(self._user.id, workspace.id),
            "team": {"id": workspace.id, "domain": workspace.domain},
            "enterprise": {"id": workspace.enterprise} if workspace.enterprise else None,
            "is_enterprise_install": False,
        }

    def _interact(self, payload: Json, view: View | None = None) -> Delivery:
        if not self._world.app.interactive:
            raise LookupError("interactivity is off in the app's settings")
        if view is None:
            return self._world.deliver("interactive", payload)
        return self._world.deliver(
            "interactive", payload, lambda done: self._submitted(view, done.response or {})
        )

    def _action(self, element: Json, block: Json, chosen: str) -> Json:
        """The entry of `actions` for what was pressed or chosen."""
        kept = ("type", "action_id", "text", "value", "style", "url")
        action = {name: element[name] for name in kept if name in element}
        action |= {"block_id": block["block_id"], "action_ts": self._world.new_ts()}
        for option in element.get("options") or ():
            if chosen in (option["text"]["text"], option["value"]):
                action["selected_option"] = option
        for side in ("positive_button", "negative_button"):
            button = element.get(side)
            if button and chosen in (button["text"]["text"], button.get("value")):
                action |= {"text": button["text"], "value": button.get("value", "")}
        return action

    def _submitted(self, view: View, response: Json) -> None:
        """Do with a modal what the app's acknowledgement says."""
        if self._world.view(view.id) is None:
            return
        match response.get("response_action"):
            case "errors":
                view.errors = response["errors"]
            case "update":
                change_view(self._world, view, self._given(response))
            case "push":
                add_view(self._world, view.team, self._user.id, self._given(response), below=view)
            case "clear":
                close_all(self._world, self._user.id)
            case _:
                self._remove(view)
        self._world.changed()

    def _given(self, response: Json) -> Json:
        try:
            return check_view(response.get("view"))
        except ApiError as error:
            raise LookupError(
                f"the app answered with a view that is refused: {error.body}"
            ) from None

    def _remove(self, view: View) -> None:
        self._world.workspaces[view.team].views.pop(view.id, None)
        self._world.changed()


def _fill(view: View, name: str, value: str | list[str]) -> None:
    for block in view.body["blocks"]:
        element: Any = block.get("element") or {}
        label = (block.get("label") or {}).get("text")
        if name not in (block.get("block_id"), element.get("action_id"), label):
            continue
        state = view.state.setdefault(block["block_id"], {})
        state[element["action_id"]] = {"type": element["type"], **_entered(element, value)}
        return
    raise LookupError(f"the modal has no field {name!r}")


def _entered(element: Json, value: str | list[str]) -> Json:
    options = element.get("options") or []
    if not options:
        return {"value": value}
    wanted = [value] if isinstance(value, str) else value
    chosen = [each for each in options if {each["text"]["text"], each["value"]} & set(wanted)]
    if len(chosen) != len(wanted):
        raise LookupError(f"there is no option {value!r}")
    if isinstance(value, str) and element["type"] not in ("checkboxes", "multi_static_select"):
        return {"selected_option": chosen[0]}
    return {"selected_options": chosen}


def find_element(blocks: list[Json], wanted: str) -> tuple[Json, Json]:
    """The button or menu with that label, option or action_id.

    Its block comes with it.
    """
    labels: list[str] = []
    for block in blocks:
        several = block.get("elements") or block.get("actions") or ()
        for element in filter(None, [*several, block.get("accessory"), block.get("element")]):
            if "action_id" not in element and element.get("type") != "button":
                continue
            names = element_names(element)
            labels.extend(names)
            if wanted in names or wanted == element.get("value"):
                return element, block
    raise LookupError(f"there is no {wanted!r}; there are {', '.join(labels) or 'no buttons'}")


def element_names(element: Json) -> list[str]:
    """Names an element can be clicked by, its label and options first."""
    names = [element["text"]["text"]] if isinstance(element.get("text"), dict) else []
    names += [option["text"]["text"] for option in element.get("options") or ()]
    for side in ("positive_button", "negative_button"):
        if side in element:
            names.append(element[side]["text"]["text"])
    return [*names, str(element.get("action_id", ""))]
