"""The checks for model clients, as a whole."""

from __future__ import annotations

import pytest

from teams.testing import NotOffered, perform
from tests.fakes.openai_server import FakeOpenAI
from tests.fakes.spoiled_clients import named, subject_of


@pytest.mark.parametrize("name", ["text_is_the_answer", "cancelling_ends_the_request"])
async def test_a_client_without_a_mistake_passes(name: str):
    async with FakeOpenAI() as server:
        await perform(named(name), subject_of(server))


async def test_what_a_protocol_lacks_is_said_with_the_reason():
    async with FakeOpenAI() as server:
        subject = subject_of(server, lacks={"failed_results_are_marked": "results have no mark"})
        with pytest.raises(NotOffered, match="results have no mark"):
            await perform(named("failed_results_are_marked"), subject)
