"""Buttons and menus in blocks, as people name them."""

from __future__ import annotations

from adapters.slack.simulator.state import Json


def find_element(blocks: list[Json], wanted: str) -> tuple[Json, Json]:
    """The button or menu with that label, option or action_id.

    Its block comes with it.
    """
    labels: list[str] = []
    for block in blocks:
        parts = [*(block.get("elements") or ()), block.get("accessory"), block.get("element")]
        for element in filter(None, parts):
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
