"""Which slice of a long transcript is mounted."""

from hypothesis import given
from hypothesis import strategies as st

from adapters.terminal.window import MOST_WEIGHT, TAIL_TURNS, TAIL_WEIGHT, Window, weight
from gateway.items import Agent, AgentItem, HumanItem, Item

HEAVIEST = 3 + 40


def item(number: int, paragraphs: int) -> Item:
    if paragraphs == 0:
        return HumanItem(key=f"h{number}", author="you", text="?")
    text = "\n\n".join("x" * paragraphs)
    return AgentItem(key=f"m{number}", agent=Agent(name="a"), text=text)


TRANSCRIPTS = st.lists(st.integers(0, 40), max_size=200).map(
    lambda sizes: [item(number, size) for number, size in enumerate(sizes)]
)


def total(items: list[Item], window: Window) -> int:
    return sum(weight(each) for each in items[window.start : window.end])


@given(TRANSCRIPTS)
def test_the_tail_is_bounded_and_reaches_the_end(items: list[Item]):
    tail = Window.tail(items)
    assert tail.end == len(items)
    assert total(items, tail) < TAIL_WEIGHT + HEAVIEST
    turns = sum(isinstance(each, HumanItem) for each in items[tail.start :])
    assert turns <= TAIL_TURNS
    assert tail.start == 0 or turns == TAIL_TURNS or total(items, tail) >= TAIL_WEIGHT


@given(TRANSCRIPTS)
def test_walking_up_and_down_passes_every_item_and_stays_bounded(items: list[Item]):
    window, seen = Window.tail(items), set[int]()
    while True:
        seen.update(range(window.start, window.end))
        assert total(items, window) <= MOST_WEIGHT + HEAVIEST
        if not window.start:
            break
        earlier = window.earlier(items)
        assert earlier.start < window.start
        assert earlier.end >= window.start  # what was at the top is still there
        window = earlier
    assert seen == set(range(len(items)))
    while window.end < len(items):
        later = window.later(items)
        assert later.end > window.end
        assert later.start <= window.end
        assert total(items, later) <= MOST_WEIGHT + HEAVIEST
        window = later


@given(TRANSCRIPTS)
def test_following_what_grows_stays_bounded(items: list[Item]):
    window = Window()
    for end in range(0, len(items) + 1, 5):
        window = window.following(items[:end])
        assert window.end == end
        assert total(items[:end], window) <= MOST_WEIGHT
