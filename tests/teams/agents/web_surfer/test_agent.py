"""The web surfer without a browser: making it, its component."""

import sys

import pytest

from teams.agents.web_surfer import MultimodalWebSurfer, PlaywrightController
from teams.base import ChatAgent
from teams.core import ComponentModel
from teams.messages import MultiModalMessage, TextMessage
from teams.models import ModelInfo
from teams.models.replay import ReplayChatCompletionClient


def model(function_calling: bool = True) -> ReplayChatCompletionClient:
    info = ModelInfo(
        vision=True,
        function_calling=function_calling,
        json_output=True,
        family="gpt-4o",
        structured_output=False,
    )
    return ReplayChatCompletionClient(["Hello."], model_info=info)


def test_a_surfer_has_the_documented_defaults():
    surfer = MultimodalWebSurfer("surfer", model())
    config = surfer.dump_component().config
    assert config["start_page"] == "https://www.bing.com/"
    assert config["headless"] is True
    assert config["to_resize_viewport"] is True
    assert config["use_ocr"] is False
    assert surfer.produced_message_types == (MultiModalMessage, TextMessage)
    assert (PlaywrightController().viewport_width, PlaywrightController().viewport_height) == (
        1440,
        900,
    )


@pytest.mark.parametrize(
    "provider",
    [
        "autogen_ext.agents.web_surfer.MultimodalWebSurfer",
        "teams.agents.web_surfer.MultimodalWebSurfer",
    ],
)
def test_a_component_of_autogen_loads_and_comes_back(provider: str):
    config = {
        "name": "surfer",
        "model_client": model().dump_component().model_dump(),
        "downloads_folder": "/tmp/downloads",
        "start_page": "https://example.com/",
        "browser_channel": "chrome",
    }
    data = {"provider": provider, "component_type": "agent", "config": config}
    surfer = ChatAgent.load_component(data)
    assert isinstance(surfer, MultimodalWebSurfer)
    dumped = surfer.dump_component()
    assert dumped.provider == "teams.agents.web_surfer.MultimodalWebSurfer"
    assert {key: dumped.config[key] for key in config} == config
    again = ChatAgent.load_component(ComponentModel.model_validate(dumped.model_dump()))
    assert again.dump_component() == dumped
    theirs = surfer.dump_component(provider="autogen")
    assert theirs.provider == "autogen_ext.agents.web_surfer.MultimodalWebSurfer"
    with pytest.raises(NotImplementedError, match="allow"):
        MultimodalWebSurfer("surfer", model(), allow=["here"]).dump_component(provider="autogen")


def test_what_can_not_work_is_refused_at_once():
    with pytest.raises(ValueError, match="function calling"):
        MultimodalWebSurfer("surfer", model(function_calling=False))
    with pytest.raises(ValueError, match="needs a debug_dir"):
        MultimodalWebSurfer("surfer", model(), to_save_screenshots=True)


def test_without_playwright_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "playwright", None)
    with pytest.raises(ImportError, match=r"parley-gateway\[web-surfer\]"):
        MultimodalWebSurfer("surfer", model())


def test_tools_that_only_read_say_so():
    surfer = MultimodalWebSurfer("surfer", model())
    changing = {
        name
        for name in surfer.TOOL_NAMES
        if not surfer._tools.traits(name).read_only  # pyright: ignore[reportPrivateUsage]
    }
    assert changing == {"visit_url", "web_search", "click", "input_text"}


async def test_the_state_keeps_the_address_and_loads_that_of_an_assistant():
    surfer = MultimodalWebSurfer("surfer", model())
    state = dict(await surfer.save_state())
    assert state["browser"] == {"url": "", "usage": None}
    state["browser"] = {"url": "https://example.com/", "usage": [3, 4]}
    await surfer.load_state(state)
    assert await surfer.save_state() == state
    await surfer.load_state({"llm_context": {"messages": []}})
    assert (await surfer.save_state())["browser"] == {"url": "", "usage": None}
