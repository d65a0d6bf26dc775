"""The guide's page on Magentic-One, in a real browser."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from teams import MagenticOneGroupChat
from teams.agents import ApprovalRequest, ApprovalResponse, CodeExecutorAgent
from teams.agents.file_surfer import FileSurfer
from teams.agents.magentic_one import MagenticOneCoderAgent
from teams.agents.web_surfer import MultimodalWebSurfer
from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.messages import MultiModalMessage
from teams.models.openai import OpenAIChatCompletionClient
from teams.teams.magentic_one import MagenticOne
from teams.ui import Console
from tests.browser.site import Site
from tests.browser.surfing import number_of
from tests.fakes.openai_script import Call, Reply, Request
from tests.fakes.openai_server import FakeOpenAI
from tests.gateway.journeys.test_magentic_one import ledger

ORCHESTRATOR = "MagenticOneOrchestrator"
LOCAL = "127.0.0.1"


@pytest.fixture
async def model(openai_server: FakeOpenAI) -> AsyncIterator[OpenAIChatCompletionClient]:
    client = OpenAIChatCompletionClient(model="gpt-4o", api_key="sk-x", base_url=openai_server.url)
    yield client
    await client.close()


def step(name: str, **arguments: Any) -> Reply:
    """A call of the browser's."""
    return Reply(calls=[Call(name=name, arguments={"reasoning": "It is next.", **arguments})])


def on(label: str) -> Callable[[Request], Reply]:
    """A click on an element that the model was shown."""
    return lambda request: step("click", target_id=number_of(label, request.last_user))


def seen(request: Request) -> str:
    return str([message["content"] for message in request.messages])


async def test_the_agents_of_magentic_one_in_a_team(
    openai_server: FakeOpenAI, model: OpenAIChatCompletionClient, site: Site, tmp_path: Path
):
    surfer = MultimodalWebSurfer(
        "WebSurfer", model_client=model, start_page=site.url("/"), allow=[LOCAL]
    )
    files = FileSurfer("FileSurfer", model_client=model, base_path=tmp_path)
    coder = MagenticOneCoderAgent("Coder", model_client=model)
    terminal = CodeExecutorAgent(
        "ComputerTerminal", LocalCommandLineCodeExecutor(work_dir=tmp_path)
    )
    team = MagenticOneGroupChat([surfer, files, coder, terminal], model_client=model)
    openai_server.script(
        *(Reply(text="A shop is known."), Reply(text="Look, compute, read.")),
        ledger("WebSurfer", "Open the window of the shop."),
        on("Open a window"),
        ledger("Coder", "Write the number of teas to a file."),
        Reply(text="```sh\necho 17 kinds > teas.txt\n```"),
        ledger("ComputerTerminal", "Run it."),
        ledger("FileSurfer", "Read teas.txt."),
        Reply(calls=[Call(name="open_path", arguments={"path": "teas.txt"})]),
        ledger("WebSurfer", done=True),
        Reply(text="The shop has 17 kinds of tea."),
    )
    try:
        result = await Console(team.run_stream(task="How many kinds of tea has the shop?"))
    finally:
        await surfer.close()
    said = [message for message in result.messages if message.source != ORCHESTRATOR]
    [page] = [message for message in said if isinstance(message, MultiModalMessage)]
    assert "The window" in str(page.content[0])
    assert {message.source for message in said} == {
        *("user", "WebSurfer", "FileSurfer", "Coder", "ComputerTerminal")
    }
    assert result.messages[-1].to_text() == "The shop has 17 kinds of tea."
    assert [request.refused for request in openai_server.requests if request.refused] == []
    assert "17 kinds\n" in result.messages[-2].to_text()


async def test_the_bundle(
    openai_server: FakeOpenAI,
    model: OpenAIChatCompletionClient,
    site: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "order.txt").write_text("Two pounds of green tea.")
    executor = LocalCommandLineCodeExecutor(work_dir=tmp_path)
    approved: list[str] = []

    def approve(request: ApprovalRequest) -> ApprovalResponse:
        approved.append(request.code)
        return ApprovalResponse(approved=True, reason="It only prints.")

    openai_server.script(
        *(Reply(text="An order is known."), Reply(text="Read, look, compute, ask.")),
        ledger("FileSurfer", "Read order.txt."),
        Reply(calls=[Call(name="open_path", arguments={"path": "order.txt"})]),
        ledger("WebSurfer", f"Visit {site.url('/')}."),
        step("visit_url", url=site.url("/")),
        ledger("WebSurfer", "Go to the order form."),
        on("Order form"),
        *(ledger("User", "What is a pound?"), ledger("Coder", "Compute it.")),
        Reply(text="```python\nprint(2 * 7.5)\n```"),
        ledger("ComputerTerminal", "Run it."),
        ledger("Coder", done=True),
        Reply(text="The order costs 15."),
    )
    async with MagenticOne(
        client=model,
        hil_mode=True,
        input_func=lambda _: "7.5",
        code_executor=executor,
        approval_func=approve,
    ) as m1:
        surfer: Any = m1._participants[1]  # its own site is on this machine, which it may not visit
        surfer.network.reaches = surfer.network.is_private_allowed = lambda host: host == LOCAL
        result = await Console(m1.run_stream(task="What does the order cost?"))
        assert surfer._session.is_open
    assert not surfer._session.is_open
    assert result.messages[-1].to_text() == "The order costs 15."
    assert approved == ["print(2 * 7.5)\n"]
    assert "/form" in site.asked
    last = openai_server.requests[-1]
    for part in ("Two pounds of green tea.", "Order", "7.5", "15.0"):
        assert part in seen(last)
