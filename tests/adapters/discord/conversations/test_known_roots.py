"""Places of conversations, found by their roots, and the other way round."""

from typing import Any

import pytest

from adapters.discord.conversations.known_roots import MESSAGE, THREAD, KnownRoots
from gateway.conversation import ConversationKey
from gateway.errors import StoreError

KEY = ConversationKey(platform="critic", workspace="1", channel="2", root="ask-3")


class Marks:
    """Marks in memory, which nodes share."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self.broken: tuple[str, ...] = ()

    async def read(self, platform: str, name: str = "") -> dict[str, str]:
        return {each: self.kept[each] for each in self.kept if name in ("", each)}

    async def keep(self, platform: str, name: str, value: str, **more: Any) -> None:
        assert platform == "critic"
        if name.startswith(self.broken):
            raise StoreError("the disk is full")
        self.kept[name] = value


async def test_a_place_that_another_node_keeps_is_found_from_both_sides() -> None:
    marks = Marks()
    first, second, third = (KnownRoots(marks, "critic") for _ in range(3))
    await first.keep(MESSAGE, KEY, "9")
    assert (first.place(MESSAGE, KEY), first.place(THREAD, KEY)) == ("9", "")
    assert (second.root_of("9"), second.place(MESSAGE, KEY)) == ("9", "")
    await second.look_up(MESSAGE, KEY)
    assert (second.root_of("9"), second.place(MESSAGE, KEY)) == ("ask-3", "9")
    assert await third.look_up_root("9")
    assert not await third.look_up_root("8")
    assert (third.root_of("9"), third.root_of("8")) == ("ask-3", "8")


@pytest.mark.parametrize("broken", ["root:", "asked:"])
async def test_a_place_whose_marks_are_not_kept_is_not_known_until_they_are(broken: str) -> None:
    marks = Marks()
    roots = KnownRoots(marks, "critic")
    marks.broken = (broken,)
    with pytest.raises(StoreError):
        await roots.keep(MESSAGE, KEY, "9")
    assert (roots.place(MESSAGE, KEY), roots.root_of("9")) == ("", "9")
    marks.broken = ()
    await roots.keep(MESSAGE, KEY, "9")
    assert (roots.place(MESSAGE, KEY), roots.root_of("9")) == ("9", "ask-3")


async def test_marks_of_an_earlier_run_are_known_and_others_are_none() -> None:
    roots = KnownRoots(Marks(), "critic")
    for name, place in (("asked:ask-3", "9"), ("direct:5", "t1"), ("root:9", "asked:ask-3")):
        roots.load(name, place)
    assert roots.place(MESSAGE, KEY) == "9"
    assert roots.root_of("t1") == "t1"
    assert roots.root_of("asked:ask-3") == "asked:ask-3"
