"""Words are found in all of a thread, folded or not."""

from adapters.terminal.find import ThreadSearch, Walk, found_lines, place_in
from adapters.terminal.widgets.entries import CARD_LINES
from gateway.items import Agent, AgentItem, HumanItem, Item, ThoughtItem, ToolItem

HELPER = Agent(name="helper")


def message(key: str, text: str) -> AgentItem:
    return AgentItem(key=key, agent=HELPER, text=text)


def walked(search: ThreadSearch) -> str:
    assert search.found is not None
    return f"{search.walk}: {search.found.key}, {search.found.below} below"


def test_places_are_counted_in_order_and_keep_their_number_while_a_message_grows():
    items: list[Item] = [
        HumanItem(key="a", author="Ann", text="Apple"),
        ThoughtItem(key="b", agent=HELPER, text="an apple, no APPLE"),
        message("c", "pear"),
    ]
    search = ThreadSearch("apple")
    search.read(items)
    search.begin("b", items)
    assert walked(search) == "2 of 3: b, 1 below"
    search.walk.step(1)
    search.read([*items[:2], message("c", "pear, apple."), items[0]])
    assert walked(search) == "3 of 4: b, 0 below"
    search.walk.step(-3)
    assert walked(search) == "4 of 4: c, 0 below"
    search.read(items)
    search.begin("c", items)
    assert walked(search) == "3 of 3: b, 0 below"
    search.read([])
    assert search.found is None
    assert str(search.walk) == "No match was found."
    assert str(Walk(1200, 999)) == "1,000 of 1,200"


def test_no_words_are_nowhere():
    items: list[Item] = [message("a", "apple")]
    search = ThreadSearch("")
    search.read(items)
    search.begin("a", items)
    assert search.found is None


def test_a_line_of_a_result_is_known():
    lines = "\n".join(f"line {number}" for number in range(CARD_LINES))
    item = ToolItem(key="t", agent=HELPER, tool="line", arguments="line", result=lines)
    search = ThreadSearch("LINE")
    search.read([item])
    assert search.walk.count == CARD_LINES + 2
    assert place_in(item, search.pattern, 0) == CARD_LINES - 1
    assert place_in(item, search.pattern, CARD_LINES - 1) == 0
    assert place_in(item, search.pattern, CARD_LINES) is None
    assert list(found_lines([item], "line 12")) == ["tool: helper line: line 12"]


def test_a_message_that_comes_later_is_searched_too():
    items = [message(str(number), f"{number} " + "some words here " * 40) for number in range(1000)]
    search = ThreadSearch("999 some")
    search.read(items)
    search.read([*items, message("new", "999 some")])
    assert search.walk.count == 2
