"""The controller on pages of the tests' own, in a real Chromium."""

import os
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Page, async_playwright

from teams.agents.web_surfer import PlaywrightController
from tests.browser.site import Site


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=os.environ["PARLEY_CHROMIUM"], chromium_sandbox=os.geteuid() != 0
        )
        yield await browser.new_page()
        await browser.close()


@pytest.fixture
def control() -> PlaywrightController:
    made = PlaywrightController()
    made.patience = 2.0
    return made


async def found(control: PlaywrightController, page: Page, name: str) -> str:
    regions = await control.get_interactive_rects(page)
    return next(key for key, each in regions.items() if each["aria_name"] == name)


async def test_elements_have_ids_from_10_on_and_keep_them(
    site: Site, page: Page, control: PlaywrightController
):
    await control.on_new_page(page)
    await control.visit_page(page, site.url())
    regions = await control.get_interactive_rects(page)
    assert list(regions) == ["10", "11", "12", "13", "14"]
    assert regions["10"]["role"] == "link"
    assert regions["10"]["tag_name"] == "a"
    assert regions["14"]["aria_name"] == "Press me"
    assert regions["14"]["rects"][0]["width"] > 10
    assert await control.get_interactive_rects(page) == regions
    assert await page.locator("[__elementId='14']").inner_text() == "Press me"
    assert page.viewport_size == {"width": 1440, "height": 900}


async def test_a_click_works_and_returns_a_window_that_opens(
    site: Site, page: Page, control: PlaywrightController
):
    await control.visit_page(page, site.url())
    assert await control.click_id(page, await found(control, page, "Press me")) is None
    assert await page.title() == "clicked"
    opened = await control.click_id(page, await found(control, page, "Open a window"))
    assert opened is not None
    assert "new window" in await control.get_webpage_text(opened)


async def test_every_kind_of_field_is_filled_but_files(
    site: Site, page: Page, control: PlaywrightController
):
    await control.visit_page(page, site.url("/form"))
    for name, value in {
        "Name": "Ada",
        "Amount": "3",
        "Day": "2026-11-26",
        "Secret": "pass",
        "Tea": "green",
        "Gift": "true",
        "Fast": "yes",
        "Strength": "7",
        "Note": "two\nlines",
    }.items():
        await control.fill_id(page, await found(control, page, name), value, press_enter=False)
    with pytest.raises(ValueError, match="Files of this machine"):
        await control.fill_id(page, await found(control, page, "Picture"), "/etc/passwd")
    await control.click_id(page, await found(control, page, "Order now"))
    text = await control.get_webpage_text(page)
    assert "amount=3, day=2026-11-26, gift=on, name=Ada" in text
    assert "secret=pass, speed=fast, strength=7, tea=green" in text


async def test_enter_sends_a_form(site: Site, page: Page, control: PlaywrightController):
    await control.visit_page(page, site.url("/form"))
    name = await found(control, page, "Name")
    await control.fill_id(page, name, "Bob")
    assert "name=Bob" in await control.get_webpage_text(page)


async def test_a_field_with_the_focus_is_known_by_its_id(
    site: Site, page: Page, control: PlaywrightController
):
    await control.visit_page(page, site.url("/form"))
    name = await found(control, page, "Name")
    assert await control.get_focused_rect_id(page) is None
    await control.click_id(page, name)
    assert await control.get_focused_rect_id(page) == name


async def test_elements_of_frames_are_found_and_clicked_also_of_other_origins(
    site: Site, page: Page, control: PlaywrightController
):
    await control.visit_page(page, site.url("/frames"))
    inner = (await control.get_interactive_rects(page))[await found(control, page, "Inner button")]
    other = await found(control, page, "Other button")
    assert inner["rects"][0]["y"] > 30  # in the view, not in its frame
    await control.click_id(page, other)
    await control.click_id(page, await found(control, page, "Inner button"))
    text = await control.get_visible_text(page)
    assert "Inner was clicked" in text
    assert "Other was clicked" in text
    assert "Outside." in text


async def test_elements_in_a_shadow_are_found_and_clicked(
    site: Site, page: Page, control: PlaywrightController
):
    await control.visit_page(page, site.url("/shadow"))
    await control.click_id(page, await found(control, page, "In the shadow"))
    assert await page.title() == "shadow clicked"
    assert "Shadow text." in await control.get_visible_text(page)


async def test_a_covered_element_is_not_shown_and_not_clicked(
    site: Site, page: Page, control: PlaywrightController
):
    await control.visit_page(page, site.url("/covered"))
    assert await control.get_interactive_rects(page) == {}
    await page.evaluate("document.querySelector('button').setAttribute('__elementId', '10')")
    with pytest.raises(ValueError, match="covered, disabled or gone"):
        await control.click_id(page, "10")
    assert await page.title() == "Covered"


async def test_an_id_that_is_not_there_is_a_value_error(
    site: Site, page: Page, control: PlaywrightController, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("teams.agents.web_surfer._controller.ID_SECONDS", 0.3)
    await control.visit_page(page, site.url("/removed"))
    soon_gone = await found(control, page, "Soon gone")
    await page.evaluate("b.remove()")
    for action in (control.click_id, control.hover_id):
        with pytest.raises(ValueError, match=f"no element {soon_gone}"):
            await action(page, soon_gone)
    with pytest.raises(ValueError, match="invalid literal"):
        await control.click_id(page, "1'],html,[x='1")


async def test_an_id_that_a_page_gives_to_two_elements_is_refused(
    site: Site, page: Page, control: PlaywrightController, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("teams.agents.web_surfer._controller.ID_SECONDS", 0.3)
    await control.visit_page(page, site.url("/form"))
    name = await found(control, page, "Name")
    await page.evaluate(f"document.body.setAttribute('__elementId', '{name}')")
    with pytest.raises(ValueError, match="no element"):
        await control.click_id(page, name)


async def test_pages_scroll_and_go_back(site: Site, page: Page, control: PlaywrightController):
    await control.visit_page(page, site.url())
    await control.visit_page(page, site.url("/long"))
    assert "Line 0." in await control.get_visible_text(page)
    await control.page_down(page)
    assert (await control.get_visual_viewport(page))["pageTop"] > 600
    assert "Line 0." not in (await control.get_visible_text(page)).splitlines()
    await control.page_up(page)
    assert (await control.get_visual_viewport(page))["pageTop"] == 0
    await control.back(page)
    assert page.url == site.url()


async def test_texts_of_long_and_endless_pages_have_an_end(
    site: Site, page: Page, control: PlaywrightController
):
    await control.visit_page(page, site.url("/long"))
    assert (await control.get_webpage_text(page, n_lines=3)).splitlines() == [
        "Line 0.",
        "Line 1.",
        "Line 2.",
    ]
    assert "[The last link](/)" in await control.get_page_markdown(page)
    await control.visit_page(page, site.url("/endless"))
    for _ in range(5):
        await control.page_down(page)
    assert len(await control.get_visible_text(page)) < 2000


async def test_a_hover_opens_a_menu(site: Site, page: Page, control: PlaywrightController):
    await control.visit_page(page, site.url("/menu"))
    assert "Green tea" not in await control.get_visible_text(page)
    regions = await control.get_interactive_rects(page)
    await control.hover_id(page, next(iter(regions)))
    assert "Green tea" in await control.get_visible_text(page)


async def test_what_can_not_be_seen_is_not_in_a_pages_words(
    site: Site, page: Page, control: PlaywrightController
):
    await control.visit_page(page, site.url("/hostile"))
    regions = await control.get_interactive_rects(page)
    texts = [await control.get_visible_text(page), await control.get_webpage_text(page)]
    for text in [*texts, *(each["aria_name"] for each in regions.values())]:
        assert "IGNORE" in text
        assert not {"\x1b", "\x07", "\u202e"} & {*text}


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "chrome://version"]
)
async def test_only_addresses_of_the_web_are_opened(
    page: Page, control: PlaywrightController, url: str
):
    with pytest.raises(ValueError, match="only http and https"):
        await control.visit_page(page, url)


async def test_a_page_that_never_loads_is_left_as_it_is(
    site: Site, page: Page, control: PlaywrightController
):
    control.patience = 0.5
    assert await control.visit_page(page, site.url("/never")) == (True, True)
    control.patience = 2.0
    assert await control.visit_page(page, site.url()) == (True, True)
    assert await page.title() == "The shop"


async def test_a_page_that_does_not_answer_is_a_timeout(
    site: Site, page: Page, control: PlaywrightController
):
    await control.visit_page(page, site.url("/busy"))
    start = await found(control, page, "Start")
    await page.evaluate("setTimeout(() => document.querySelector('button').click(), 50)")
    await page.wait_for_timeout(300)
    control.patience = 0.5
    with pytest.raises(TimeoutError):
        await control.get_interactive_rects(page)
    assert start


async def test_metadata_of_a_page(page: Page, control: PlaywrightController):
    await page.set_content(
        '<meta name="author" content="Ada"><script type="application/ld+json">{"a": 1}</script>'
    )
    metadata = await control.get_page_metadata(page)
    assert metadata == {"meta_tags": {"author": "Ada"}, "jsonld": ['{"a": 1}']}


async def test_an_element_scrolls_inside(page: Page, control: PlaywrightController):
    await page.set_content(
        "<div id='d' style='height:100px;overflow-y:auto'><p style='height:900px'>Tall</p></div>"
    )
    regions = await control.get_interactive_rects(page)
    (number,) = regions
    assert regions[number]["v_scrollable"]
    await control.scroll_id(page, number, "down")
    assert await page.evaluate("d.scrollTop") > 50
    await control.scroll_id(page, number, "up")
    assert await page.evaluate("d.scrollTop") == 0
