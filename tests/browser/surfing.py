"""A web surfer with a scripted model, for tests."""

import json
from typing import Any

from teams.agents.web_surfer import MultimodalWebSurfer
from teams.base import TaskResult
from teams.core import FunctionCall
from teams.messages import BaseChatMessage, MultiModalMessage
from teams.models import CreateResult, ModelInfo, RequestUsage
from teams.models.replay import ReplayChatCompletionClient
from tests.browser.site import Site

SEES = ModelInfo(
    vision=True,
    function_calling=True,
    json_output=False,
    family="unknown",
    structured_output=False,
)
BLIND = ModelInfo(
    vision=False,
    function_calling=True,
    json_output=False,
    family="unknown",
    structured_output=False,
)


def call(name: str, **arguments: Any) -> CreateResult:
    """A model's answer that is one call."""
    given = json.dumps({"reasoning": "It is the next step.", **arguments})
    return CreateResult(
        finish_reason="function_calls",
        content=[FunctionCall(id="1", name=name, arguments=given)],
        usage=RequestUsage(prompt_tokens=10, completion_tokens=5),
        cached=False,
    )


class ByName(ReplayChatCompletionClient):
    """A model that names elements, in place of their numbers."""

    async def create(self, messages: Any, **options: Any) -> CreateResult:
        answer = await super().create(messages, **options)
        if isinstance(answer.content, list):
            shown = state_shown(messages)
            for each in answer.content:
                given = json.loads(each.arguments)
                for key in ("target_id", "input_field_id"):
                    if isinstance(given.get(key), str):
                        given[key] = number_of(given[key], shown)
                each.arguments = json.dumps(given)
        return answer


def state_shown(messages: Any) -> str:
    content = messages[-1].content
    return content if isinstance(content, str) else content[0]


def number_of(name: str, shown: str) -> int:
    found = [line for line in shown.splitlines() if line.endswith(f'"{name}"')]
    assert found, f"there is no {name!r} in:\n{shown}"
    return int(found[0].partition(":")[0])


def surfer_on(site: Site, path: str, *answers: Any, **options: Any) -> MultimodalWebSurfer:
    """A surfer whose first page is one of the site."""
    info = options.pop("model_info", SEES)
    model = ByName(list(answers), model_info=info)
    allow = options.pop("allow", ["127.0.0.1", "localhost"])
    made = MultimodalWebSurfer("surfer", model, start_page=site.url(path), allow=allow, **options)
    made._session._controller.patience = 3.0  # pyright: ignore[reportPrivateUsage]
    return made


async def turn_of(surfer: MultimodalWebSurfer, task: Any = "Go on.") -> BaseChatMessage:
    """The message that ends a turn."""
    result: TaskResult = await surfer.run(task=task)
    message = result.messages[-1]
    assert isinstance(message, BaseChatMessage)
    return message


def words_of(message: BaseChatMessage) -> str:
    """The words of a turn's message."""
    if isinstance(message, MultiModalMessage):
        return str(message.content[0])
    return message.to_text()
