"""The web surfer's turns, guards and state, in a real Chromium."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import async_playwright

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent
from teams.base import ToolCall, run_hooks
from teams.core import CancellationToken, Image
from teams.messages import (
    MultiModalMessage,
    TextMessage,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
)
from teams.models import ContentRefused, CreateResult, RequestUsage
from teams.models.replay import ReplayChatCompletionClient
from teams.tools import TextResultContent, ToolResult
from tests.browser.site import HOSTILE, Site
from tests.browser.surfing import BLIND, call, surfer_on, turn_of, words_of

PIXEL = Image.from_base64("R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=")


async def test_a_turn_is_one_step_with_the_page_and_its_picture(site: Site):
    async with surfer_on(site, "/", call("click", target_id="Order form"), "Done.") as surfer:
        message = await turn_of(surfer, "Order tea.")
        assert isinstance(message, MultiModalMessage)
        words, picture = message.content
        assert 'I clicked link "Order form".' in str(words)
        assert "Order now" in str(words)
        assert picture.mime_type == "image/jpeg"  # pyright: ignore
        assert message.models_usage is not None
        assert message.models_usage.prompt_tokens == 10
        answer = await turn_of(surfer)
        assert isinstance(answer, TextMessage)
        assert answer.content == "Done."


async def test_the_first_page_is_opened_by_a_call_of_its_own(site: Site):
    async with surfer_on(site, "/", call("sleep", duration=0)) as surfer:
        result = await surfer.run(task="Look.")
        calls = [
            each.name
            for item in result.messages
            if isinstance(item, ToolCallRequestEvent)
            for each in item.content
        ]
        assert calls == ["open_browser", "sleep"]
        assert site.asked[0] == "/"


async def test_a_model_is_shown_elements_and_a_picture_and_never_the_call_that_opens(site: Site):
    async with surfer_on(site, "/", "Seen.") as surfer:
        await turn_of(surfer, "Look.")
        request = surfer.model_client.create_calls[0]  # pyright: ignore
        state, picture = request["messages"][-1].content
        assert 'button "Press me"' in state
        assert "It is material" in state
        assert picture.mime_type == "image/jpeg"
        names = {tool["name"] for tool in request["tools"]}
        assert names == {
            *("visit_url", "web_search", "history_back", "click", "input_text"),
            *("answer_question", "summarize_page", "sleep", "hover"),
        }


async def test_a_refused_picture_of_a_page_is_left_out_and_peoples_images_stay(
    site: Site, monkeypatch: pytest.MonkeyPatch
):
    async with surfer_on(site, "/", "Seen.") as surfer:

        async def refuse(*_: Any, **__: Any) -> CreateResult:
            raise ContentRefused("The image was refused.")

        with monkeypatch.context() as refusing:
            refusing.setattr(surfer.model_client, "create", refuse)
            with pytest.raises(ContentRefused):
                await turn_of(surfer, MultiModalMessage(content=["Look.", PIXEL], source="user"))
        await turn_of(surfer)
        asked = surfer.model_client.create_calls[-1]["messages"]  # pyright: ignore
        assert isinstance(asked[-1].content, str)
        assert PIXEL in asked[1].content
        assert (await surfer.save_state())["browser"]["blind"] is True


async def test_scrolling_is_offered_where_it_is_possible(site: Site):
    async with surfer_on(site, "/long", call("scroll_down"), call("scroll_up"), "Ok.") as surfer:
        for _ in range(3):
            await turn_of(surfer)
        offered = [
            {tool["name"] for tool in each["tools"]} & {"scroll_up", "scroll_down"}
            for each in surfer.model_client.create_calls  # pyright: ignore
        ]
        assert offered == [{"scroll_down"}, {"scroll_up", "scroll_down"}, {"scroll_down"}]


async def test_a_model_without_vision_reads_the_visible_text(site: Site):
    async with surfer_on(site, "/", "Seen.", model_info=BLIND) as surfer:
        await turn_of(surfer)
        content = surfer.model_client.create_calls[0]["messages"][-1].content  # pyright: ignore
        assert "We sell 17 kinds of tea." in content


async def test_the_history_is_kept_for_every_family_of_models(site: Site):
    async with surfer_on(site, "/", call("sleep", duration=0), "Ok.") as surfer:
        await turn_of(surfer, "Find the price of tea.")
        await turn_of(surfer, "And of coffee?")
        texts = str(surfer.model_client.create_calls[1]["messages"])  # pyright: ignore
        assert "Find the price of tea." in texts
        assert "And of coffee?" in texts
        assert "I waited." in texts


async def test_questions_are_answered_from_the_whole_page_and_their_tokens_counted(site: Site):
    read = CreateResult(
        finish_reason="stop",
        content="Seventeen kinds.",
        usage=RequestUsage(prompt_tokens=100, completion_tokens=7),
        cached=False,
    )
    answers = [call("answer_question", question="Which tea?"), read]
    async with surfer_on(site, "/long", *answers) as surfer:
        message = await turn_of(surfer)
        assert words_of(message) == "Seventeen kinds."
        asked = surfer.model_client.create_calls[1]["messages"][-1].content  # pyright: ignore
        assert "Line 1999." in asked
        assert asked.endswith("Which tea?")
        assert message.models_usage == RequestUsage(prompt_tokens=110, completion_tokens=12)


async def test_an_address_of_another_scheme_is_refused_as_a_result(site: Site):
    answers = [
        call("visit_url", url="file:///etc/passwd"),
        call("visit_url", url=site.url("/to-file")),
    ]
    async with surfer_on(site, "/", *answers) as surfer:
        assert "only http and https" in words_of(await turn_of(surfer))
        assert "root:" not in words_of(await turn_of(surfer))


@pytest.mark.parametrize("path", ["/private", "/private-6"])
async def test_a_redirect_to_a_private_address_is_refused_and_told(site: Site, path: str):
    async with surfer_on(site, "/", call("visit_url", url=site.url(path))) as surfer:
        words = words_of(await turn_of(surfer))
        assert "Refused by the rules for the network" in words
        assert "/secret" not in site.asked


async def test_no_request_of_a_page_reaches_a_private_address(site: Site):
    async with surfer_on(site, "/inside", call("sleep", duration=1)) as surfer:
        result = await surfer.run(task="Look.")
        assert site.asked == ["/inside"]
        told = str([each for each in result.messages if isinstance(each, ToolCallExecutionEvent)])
        for host in ("127.0.0.2", "::1"):
            assert f"{host} leads to an address of a private network" in told


async def test_private_addresses_are_refused_unless_allowed(site: Site):
    async with surfer_on(site, "/", "Nothing there.", allow=[]) as surfer:
        result = await surfer.run(task="Look.")
        opened = next(x for x in result.messages if isinstance(x, ToolCallExecutionEvent))
        assert "private network" in opened.content[0].content
        assert site.asked == []


async def test_only_named_hosts_are_reached_where_the_rules_say_so(site: Site):
    async with surfer_on(site, "/frames", call("sleep", duration=0)) as surfer:
        surfer.network.reaches = lambda host: host == "127.0.0.1"
        words = words_of(await turn_of(surfer))
        assert "/other" not in site.asked
        assert words


async def test_a_download_goes_into_the_folder_under_a_safe_name(site: Site, tmp_path: Path):
    folder = tmp_path / "work"
    answers = [call("click", target_id="Price list")] * 2
    async with surfer_on(site, "/", *answers, downloads_folder=str(folder)) as surfer:
        assert "Downloaded" in words_of(await turn_of(surfer))
        assert "Downloaded" in words_of(await turn_of(surfer))
        names = sorted(each.name for each in folder.iterdir())
        assert len(names) == 2
        assert all("/" not in name and not name.startswith(".") for name in names)
        assert os.listdir(tmp_path) == ["work"]


@pytest.mark.parametrize("given", [True, False], ids=["too large", "no folder"])
async def test_other_downloads_are_refused(
    site: Site, tmp_path: Path, given: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("teams.agents.web_surfer._session.LARGEST_DOWNLOAD", 500)
    answers = [call("visit_url", url=site.url("/file"))]
    folder = str(tmp_path / "work") if given else None
    async with surfer_on(site, "/", *answers, downloads_folder=folder) as surfer:
        words = words_of(await turn_of(surfer))
        assert "was refused" in words
        assert ("1,000 bytes" if given else "no folder for downloads") in words
        assert not any(files for _, _, files in os.walk(tmp_path))


async def test_dialogs_are_dismissed_and_told(site: Site):
    async with surfer_on(site, "/dialog", call("click", target_id="Ask")) as surfer:
        words = words_of(await turn_of(surfer))
        assert "dialog (confirm), dismissed: 'Really?'" in words
        assert "\nno\n" in words
        assert "\x1b" not in words


async def test_a_window_that_opens_is_followed_and_others_are_closed(site: Site):
    answers = [call("click", target_id="Open a window"), call("visit_url", url=site.url("/many"))]
    answers.append(call("sleep", duration=1))
    async with surfer_on(site, "/", *answers) as surfer:
        assert "You are in the new window." in words_of(await turn_of(surfer))
        await turn_of(surfer)
        await turn_of(surfer)
        page = surfer._session.page  # pyright: ignore[reportPrivateUsage]
        assert page.url == site.url("/many")
        assert len(page.context.pages) == 2  # this one, and the board for pictures


async def test_a_page_that_hangs_is_closed_and_the_browser_goes_on(site: Site):
    answers = [call("click", target_id="Start"), call("visit_url", url=site.url())]
    async with surfer_on(site, "/busy", *answers) as surfer:
        surfer._session._controller.patience = 1.0  # pyright: ignore[reportPrivateUsage]
        assert words_of(await turn_of(surfer))
        assert "17 kinds" in words_of(await turn_of(surfer))


async def test_hostile_text_stays_between_marks_that_it_can_not_know(site: Site):
    async with surfer_on(site, "/hostile", call("sleep", duration=0)) as surfer:
        words = words_of(await turn_of(surfer))
        assert not {"\x1b", "\x07", "\u202e"} & {*words}
        state = surfer.model_client.create_calls[0]["messages"][-1].content[0]  # pyright: ignore
        for text in (words, state):
            mark = text.partition("[page ")[2][:8]
            assert mark not in HOSTILE
            assert text.count(f"[end of page {mark}]") == 1
            assert text.rstrip().endswith(f"[end of page {mark}]")


async def test_every_call_passes_the_gate_with_the_name_of_its_element(site: Site):
    seen: list[ToolCall] = []

    async def gate(each: ToolCall, proceed: Any) -> ToolResult:
        seen.append(each)
        if each.name == "click":
            refused = TextResultContent(content="A person denied this.")
            return ToolResult(name=each.name, result=[refused], is_error=True)
        return await proceed(each)

    answers = [
        call("click", target_id="Press me"),
        call("input_text", input_field_id=999, text_value="x"),
        call("scroll_down"),
    ]
    async with surfer_on(site, "/", *answers) as surfer:
        with run_hooks(intercept=gate):
            assert words_of(await turn_of(surfer)) == "A person denied this."
            assert "not in view: nothing was done" in words_of(await turn_of(surfer))
            await turn_of(surfer)
        assert await surfer._session.page.title() == "The shop"  # pyright: ignore
    assert [each.name for each in seen] == ["open_browser", "click", "input_text", "scroll_down"]
    assert [each.read_only for each in seen] == [True, False, False, True]
    assert json.loads(seen[1].arguments)["target"] == 'button "Press me"'


async def test_an_element_that_changed_while_people_decided_is_not_clicked(site: Site):
    async def gate(each: ToolCall, proceed: Any) -> ToolResult:
        if each.name == "click":
            page = surfer._session.page  # pyright: ignore[reportPrivateUsage]
            await page.evaluate("b.innerText = 'Pay 1000'")
        return await proceed(each)

    async with surfer_on(site, "/swapped", call("click", target_id="Read more")) as surfer:
        with run_hooks(intercept=gate):
            words = words_of(await turn_of(surfer))
        assert 'was button "Read more", now is button "Pay 1000"' in words
        assert await surfer._session.page.title() == "Swapped"  # pyright: ignore


async def test_only_the_first_call_of_an_answer_is_made(site: Site):
    both = call("sleep", duration=0)
    both.content.append(call("visit_url", url=site.url("/form")).content[0])  # pyright: ignore
    async with surfer_on(site, "/", both) as surfer:
        await turn_of(surfer)
        assert "/form" not in site.asked


async def test_cancelling_ends_a_turn_within_a_second_and_the_browser_goes_on(site: Site):
    answers = [call("visit_url", url=site.url("/never")), call("visit_url", url=site.url())]
    async with surfer_on(site, "/", *answers) as surfer:
        token = CancellationToken()
        running = asyncio.ensure_future(surfer.run(task="Go.", cancellation_token=token))
        await site.was_asked("/never")
        begun = asyncio.get_running_loop().time()
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert asyncio.get_running_loop().time() - begun < 1
        assert "17 kinds" in words_of(await turn_of(surfer))
        history = str(surfer.model_client.create_calls[-1]["messages"])  # pyright: ignore
        assert "The call was interrupted" in history


async def test_a_state_opens_the_page_again_and_says_what_is_lost(site: Site):
    answers = [call("visit_url", url=site.url("/cookie")), call("sleep", duration=0)]
    async with surfer_on(site, "/", *answers[:1]) as surfer:
        assert "no cookie" in words_of(await turn_of(surfer))
        state = json.loads(json.dumps(await surfer.save_state()))
    async with surfer_on(site, "/", answers[1]) as surfer:
        await surfer.load_state(state)
        result = await surfer.run(task="Go on.")
        opened = next(x for x in result.messages if isinstance(x, ToolCallExecutionEvent))
        assert "cookies, filled-in forms" in opened.content[0].content
        assert "no cookie" in opened.content[0].content
        assert site.asked[-1] == "/cookie"


async def test_a_click_that_outlives_its_browser_does_nothing(site: Site):
    surfer = surfer_on(site, "/", call("click", target_id="Press me"))
    items = surfer.on_messages_stream(
        [TextMessage(content="Go.", source="user")], CancellationToken()
    )
    async for item in items:
        if isinstance(item, ToolCallRequestEvent) and item.content[0].name == "click":
            break
    state = await surfer.save_state()
    await items.aclose()
    await surfer.close()
    async with surfer_on(site, "/", "Then not.") as again:
        await again.load_state(state)
        message = await again.on_messages([], CancellationToken())
        assert "No page is open" in words_of(message.chat_message)
        assert site.asked == ["/"]


async def test_the_browser_that_was_used_longest_ago_gives_way(
    site: Site, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("teams.agents.web_surfer._session.MOST_BROWSERS", 1)
    step = call("sleep", duration=0)
    async with surfer_on(site, "/", step, step) as one, surfer_on(site, "/", step) as two:
        await turn_of(one)
        await turn_of(two)
        result = await one.run(task="Go on.")
        opened = next(x for x in result.messages if isinstance(x, ToolCallExecutionEvent))
        assert "started again" in opened.content[0].content


async def test_a_reset_begins_at_the_first_page(site: Site):
    answers = [call("visit_url", url=site.url("/form")), call("sleep", duration=0)]
    async with surfer_on(site, "/", *answers) as surfer:
        await turn_of(surfer)
        await surfer.on_reset(CancellationToken())
        assert "17 kinds" in words_of(await turn_of(surfer))
        assert "Go on." in str(surfer.model_client.create_calls[-1]["messages"])  # pyright: ignore


async def test_it_works_in_a_team_whose_others_have_no_vision(site: Site):
    async with surfer_on(site, "/", call("click", target_id="Order form")) as surfer:
        reader = AssistantAgent("reader", ReplayChatCompletionClient(["I see."], model_info=BLIND))
        team = RoundRobinGroupChat([surfer, reader], max_turns=2)
        result = await team.run(task="Look.")
        assert result.messages[-1].to_text() == "I see."


async def test_a_context_that_is_given_is_left_as_it_was(site: Site):
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=os.environ["PARLEY_CHROMIUM"], chromium_sandbox=os.geteuid() != 0
        )
        context = await browser.new_context()
        before = [await context.new_page()]
        async with surfer_on(site, "/", call("sleep", duration=0), context=context) as surfer:
            assert "17 kinds" in words_of(await turn_of(surfer))
            assert len(context.pages) == 3
        assert context.pages == before
        await browser.close()


async def test_screenshots_are_saved_where_it_is_said(site: Site, tmp_path: Path):
    options = {"debug_dir": str(tmp_path / "shots"), "to_save_screenshots": True}
    async with surfer_on(site, "/", call("sleep", duration=0), **options) as surfer:
        await turn_of(surfer)
    (saved,) = (tmp_path / "shots").iterdir()
    assert saved.read_bytes().startswith(b"\xff\xd8\xff")


async def test_a_missing_browser_is_an_error_that_says_what_to_install(
    site: Site, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PARLEY_CHROMIUM", "/nowhere/chromium")
    async with surfer_on(site, "/", "Never.") as surfer:
        with pytest.raises(RuntimeError, match="playwright install chromium"):
            await surfer.run(task="Look.")
