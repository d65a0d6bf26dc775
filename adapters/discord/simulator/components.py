"""Checks of a message's components, completed as Discord shows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adapters.discord.simulator.errors import (
    ApiError,
    Json,
    invalid,
    required,
    too_long,
    wrong_length,
)

ROW, BUTTON, SELECT, INPUT = 1, 2, 3, 4
SELECTS = (3, 5, 6, 7, 8)
SECTION, TEXT, THUMBNAIL, GALLERY, FILE, SEPARATOR, CONTAINER, LABEL = 9, 10, 11, 12, 13, 14, 17, 18
LINK_STYLE = 5

MOST = 40
MOST_V2_TEXT = 4000
CUSTOM_ID = 100
BUTTON_LABEL = 80
OWN_FILE = "attachment://"
ROWS = 5
PER_ROW = 5
MOST_OPTIONS = 25

DEFAULTS: dict[int, Json] = {
    **{kind: {"min_values": 1, "max_values": 1, "disabled": False} for kind in SELECTS},
    THUMBNAIL: {"description": None, "spoiler": False},
    FILE: {"name": None, "size": None, "spoiler": False},
    SEPARATOR: {"spacing": 1, "divider": True},
    CONTAINER: {"accent_color": None, "spoiler": False},
}


def complete_components(components: list[Json], *, v2: bool) -> list[Json]:
    """Check components and give each an id; raises `ApiError`."""
    everything = list(walk(components))
    if len(everything) > MOST:
        raise invalid("components", "BASE_TYPE_MAX_LENGTH", f"Must be {MOST} or fewer in length.")
    if v2:
        _check_text(everything)
    elif len(components) > ROWS:
        raise invalid("components", "BASE_TYPE_BAD_LENGTH", f"Must be between 1 and {ROWS}.")
    for index, component in enumerate(components):
        kind = component.get("type")
        if not v2 and kind != ROW:
            raise invalid(f"components.{index}.type", "UNION_TYPE_CHOICES", "Must be one of (1,).")
    _check_ids(everything)
    for component in everything:
        _check_component(component)
    numbers = iter(range(1, MOST + 1))
    return [_complete_component(component, numbers) for component in components]


def walk(components: list[Json]) -> Iterator[Json]:
    """All components, the nested ones too."""
    for component in components:
        yield component
        yield from walk(component.get("components") or [])
        for name in ("accessory", "component"):
            if nested := component.get(name):
                yield from walk([nested])


def custom_ids(components: list[Json]) -> list[str]:
    """Custom ids of everything that can be clicked."""
    return [each["custom_id"] for each in walk(components) if each.get("custom_id")]


def referenced_files(value: Any) -> Iterator[str]:
    """Names of the message's own files that components or embeds show."""
    match value:
        case {"url": str(url)} if url.startswith(OWN_FILE):
            yield url.removeprefix(OWN_FILE)
        case dict():
            for each in value.values():
                yield from referenced_files(each)
        case list():
            for each in value:
                yield from referenced_files(each)
        case _:
            pass


def find_component(components: list[Json], wanted: str) -> Json | None:
    """The component with this custom id, label or placeholder."""
    everything = list(walk(components))
    for key in ("custom_id", "label", "placeholder"):
        for component in everything:
            if component.get(key) == wanted:
                return component
    return None


def field_ids(form: Json) -> dict[str, str]:
    """Custom ids of a form's fields, by label."""
    found: dict[str, str] = {}
    for each in walk(form["components"]):
        inside = each.get("component") or {}
        if each["type"] == LABEL and inside.get("custom_id"):
            found[each["label"]] = inside["custom_id"]
        elif each["type"] == INPUT and each.get("label"):
            found[each["label"]] = each["custom_id"]
    return found


def _check_text(everything: list[Json]) -> None:
    length = sum(len(each.get("content") or "") for each in everything if each["type"] == TEXT)
    if length > MOST_V2_TEXT:
        raise invalid(
            "components",
            "COMPONENT_MAX_TOTAL_TEXT_LENGTH",
            f"The total text length of the components must be {MOST_V2_TEXT} or fewer.",
        )


def _check_ids(everything: list[Json]) -> None:
    ids = [each["custom_id"] for each in everything if each.get("custom_id")]
    for each in ids:
        if ids.count(each) > 1:
            raise invalid(
                "components",
                "COMPONENT_CUSTOM_ID_DUPLICATED",
                "Component custom id cannot be duplicated",
            )
        if len(each) > CUSTOM_ID:
            raise too_long("components.custom_id", CUSTOM_ID)


def _check_component(component: Json) -> None:
    kind = component.get("type")
    if kind == ROW:
        _check_row(component)
    elif kind == BUTTON:
        _check_button(component)
    elif kind in SELECTS and not component.get("custom_id"):
        raise required("components.custom_id")
    elif kind == SELECT:
        _check_options(component)


def _check_options(select: Json) -> None:
    count = len(select.get("options") or [])
    if not 1 <= count <= MOST_OPTIONS:
        raise wrong_length("components.options", 1, MOST_OPTIONS)
    # docs.discord.com, "Component Reference", "String Select": at most as many as there are.
    if not 1 <= select.get("max_values", 1) <= count:
        raise wrong_length("components.max_values", 1, count)


def _check_row(row: Json) -> None:
    inside = row.get("components") or []
    most = PER_ROW if all(each.get("type") == BUTTON for each in inside) else 1
    if not 1 <= len(inside) <= most:
        raise invalid(
            "components.components",
            "BASE_TYPE_BAD_LENGTH",
            f"Must be between 1 and {most} in length.",
        )


def _check_button(button: Json) -> None:
    if len(button.get("label") or "") > BUTTON_LABEL:
        raise too_long("components.label", BUTTON_LABEL)
    if button.get("style") == LINK_STYLE:
        if not button.get("url") or button.get("custom_id"):
            raise _invalid_button("A url button must have a url and cannot have a custom id")
    elif not button.get("custom_id"):
        raise _invalid_button("A custom id is required")
    if not button.get("label") and not button.get("emoji"):
        raise _invalid_button("A button needs a label or an emoji")


def _invalid_button(message: str) -> ApiError:
    return invalid("components.components", "BUTTON_COMPONENT_INVALID", message)


def _complete_component(component: Json, numbers: Iterator[int]) -> Json:
    kind = component.get("type")
    assert isinstance(kind, int)
    shown: Json = {**DEFAULTS.get(kind, {}), "id": next(numbers), **_without_none(component)}
    for name, value in shown.items():
        shown[name] = _complete_nested(name, value, numbers)
    return shown


def _complete_nested(name: str, value: Any, numbers: Iterator[int]) -> Any:
    match name:
        case "components":
            return [_complete_component(each, numbers) for each in value]
        case "accessory" | "component":
            return _complete_component(value, numbers)
        case "media" | "file":
            return _complete_media(value)
        case "items":
            return [_complete_item(each) for each in value]
        case "emoji":
            return _without_none(value)
        case _:
            return [_without_none(each) for each in value] if name == "options" else value


def _complete_item(item: Json) -> Json:
    return {"description": None, "spoiler": False, **item, "media": _complete_media(item["media"])}


def _without_none(value: Json) -> Json:
    return {key: each for key, each in value.items() if each is not None}


def _complete_media(media: Json) -> Json:
    return {"id": "0", "url": media["url"], "proxy_url": media["url"]}
