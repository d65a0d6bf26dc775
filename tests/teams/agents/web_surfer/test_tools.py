"""The web surfer's tools: steps and reports, without a browser."""

from __future__ import annotations

import json
from typing import Any

import pytest

from teams._base.tool_call import CURRENT_CALL
from teams.agents.web_surfer._prompts import LOST, SUMMARY
from teams.agents.web_surfer._tools import OPEN, TOOL_NAMES, BrowserRecord, BrowserTools
from teams.base import ToolCall
from teams.core import FunctionCall
from teams.models import RequestUsage

START = "https://start.example/"


class Page:
    """A page with a title."""

    url = START

    async def title(self) -> str:
        return "A page"


class Session:
    """A session without a browser."""

    def __init__(self) -> None:
        self.page = Page()
        self.is_open = False
        self.shown: list[Page] = []

    async def open(self) -> None:
        self.is_open = True

    async def close(self) -> None:
        self.is_open = False

    async def show(self, page: Page) -> None:
        self.shown.append(page)

    async def news(self) -> list[str]:
        return ["A dialog said hi."] if self.is_open else []

    async def picture(self, regions: Any) -> bytes:
        return f"{len(regions)} marks".encode()


class Controller:
    """A controller that notes what it is asked to do."""

    patience = 5.0

    def __init__(self) -> None:
        self.done: list[tuple[Any, ...]] = []
        self.regions = {"10": {"role": "button", "tag_name": "input", "aria_name": "Buy"}}
        self.opens: Page | None = None
        self.fails = False

    async def get_interactive_rects(self, page: Page) -> Any:
        return self.regions

    async def get_visual_viewport(self, page: Page) -> dict[str, float]:
        return {"pageTop": 0, "scrollHeight": 900, "height": 500}

    async def get_visible_text(self, page: Page) -> str:
        if self.fails:
            raise OSError("gone")
        return "Words in view."

    async def get_page_markdown(self, page: Page) -> str:
        return "# The whole page"

    async def visit_page(self, page: Page, url: str) -> None:
        if "nowhere" in url:
            raise ConnectionError("no such host")
        page.url = url

    async def click_id(self, page: Page, number: str) -> Page | None:
        self.done.append(("click", number))
        return self.opens

    def __getattr__(self, name: str) -> Any:
        async def do(page: Page, *given: Any) -> None:
            self.done.append((name, *given))

        return do


class Surfer:
    """Tools over both, and what the model was asked."""

    def __init__(self) -> None:
        self.session, self.controller = Session(), Controller()
        self.asked: list[str] = []
        both: tuple[Any, Any] = (self.session, self.controller)
        self.tools = BrowserTools(*both, self.ask)

    async def ask(self, question: str) -> str:
        self.asked.append(question)
        return "It says: buy."


@pytest.fixture
def surfer() -> Surfer:
    return Surfer()


def aimed(target: str) -> None:
    """Be within a call whose element has this name."""
    arguments = json.dumps({"target": target})
    call = ToolCall(key="k", id="1", name="click", arguments=arguments, agent=("al",))
    CURRENT_CALL.set(call)


def test_a_record_survives_json_and_adds_up():
    record = BrowserRecord(url=START, blind=True, finish="length")
    record.use(RequestUsage(3, 1))
    record.use(RequestUsage(2, 2))
    assert record.usage == RequestUsage(5, 3)
    for each in (record, BrowserRecord()):
        assert BrowserRecord.load(json.loads(json.dumps(each.dump(None))), None) == each


def test_its_tools_promise_what_they_change(surfer: Surfer):
    tools = {tool.name: tool.traits for tool in surfer.tools.tools()}
    assert [*tools] == [*TOOL_NAMES]
    assert tools[OPEN].fatal_errors
    assert [name for name, traits in tools.items() if not traits.read_only] == [
        *("visit_url", "web_search", "click", "input_text")
    ]


async def test_a_look_names_elements_and_useless_tools(surfer: Surfer):
    words, picture, useless = await surfer.tools.look(words=True)
    assert "Pixels above the view: 0; below it: 400." in words
    assert '10: button "Buy"' in words
    assert "Words in view." in words
    assert (picture, useless) == (b"1 marks", {OPEN, "scroll_up"})
    assert "Words in view." not in (await surfer.tools.look(words=False))[0]


async def test_people_approve_a_call_with_the_name_of_its_element(surfer: Surfer):
    await surfer.tools.look(words=False)

    def target(arguments: str) -> Any:
        aim = surfer.tools.aim(FunctionCall(id="1", name="click", arguments=arguments))
        return json.loads(aim.arguments).get("target")

    assert target('{"target_id": 10}') == 'button "Buy"'
    assert target('{"input_field_id": 11}') == "an unknown element"
    assert target("{}") is None
    broken = FunctionCall(id="1", name="click", arguments="{")
    assert surfer.tools.aim(broken) == broken


async def test_the_browser_opens_and_tells_what_was_lost(surfer: Surfer):
    told = await surfer.tools.open_browser(START)
    assert told.startswith("The browser is open. A dialog said hi.")
    assert "Words in view." in told
    assert surfer.tools.record.url == START
    assert (await surfer.tools.open_browser(START)).startswith(LOST)
    assert "nowhere could not be opened: no such host" in await surfer.tools.open_browser("nowhere")


async def test_an_address_or_a_search_is_opened(surfer: Surfer):
    assert "I opened https://a.example." in await surfer.tools.visit_url("", "https://a.example")
    assert surfer.session.is_open
    assert "I searched the web for 'a b'." in await surfer.tools.web_search("", "a b")
    assert "q=a+b" in surfer.session.page.url


async def test_a_page_that_can_not_be_read_closes_the_browser(surfer: Surfer):
    surfer.controller.fails = True
    assert "can't be read (OSError)" in await surfer.tools.visit_url("", START)
    assert (surfer.session.is_open, surfer.tools.record.url) == (False, "")
    assert "(KeyError)" in await surfer.tools.give_up(KeyError())


@pytest.mark.parametrize(
    ("tool", "given", "said", "done"),
    [
        ("history_back", (), "I went back.", ("back",)),
        ("scroll_up", (), "I scrolled up.", ("page_up",)),
        ("scroll_down", (), "I scrolled down.", ("page_down",)),
        ("sleep", (2,), "I waited.", ("sleep", 2)),
        ("click", (10,), 'I clicked button "Buy".', ("click", "10")),
        ("hover", (10,), 'I moved the mouse over button "Buy".', ("hover_id", "10")),
        ("input_text", (10, "x"), "I entered 'x' into button \"Buy\".", ("fill_id", "10", "x")),
    ],
)
async def test_a_step_is_done_and_reported(
    surfer: Surfer, tool: str, given: tuple[Any, ...], said: str, done: tuple[Any, ...]
):
    aimed('button "Buy"')
    assert (await getattr(surfer.tools, tool)("why", *given)).startswith(said)
    assert surfer.controller.done == [done]


async def test_a_click_may_open_a_window(surfer: Surfer):
    aimed('button "Buy"')
    surfer.controller.opens = Page()
    assert "which opened a window" in await surfer.tools.click("", 10)
    assert surfer.session.shown[0] is surfer.controller.opens


@pytest.mark.parametrize(
    ("number", "said"),
    [(10, 'Element 10 was link "Buy", now is button "Buy"'), (11, "Element 11 is not in view")],
)
async def test_an_element_that_has_changed_is_left_alone(surfer: Surfer, number: int, said: str):
    aimed('link "Buy"')
    with pytest.raises(ValueError, match=said):
        await surfer.tools.click("", number)
    assert surfer.controller.done == []


async def test_a_question_is_asked_about_the_whole_page(surfer: Surfer):
    assert await surfer.tools.answer_question("", "What now?") == "It says: buy."
    assert "# The whole page" in surfer.asked[0]
    assert surfer.asked[0].endswith("What now?")
    await surfer.tools.summarize_page("")
    assert surfer.asked[1].endswith(SUMMARY)
