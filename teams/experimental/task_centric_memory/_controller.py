"""Insights from advice, demonstrations and failures, kept and recalled."""

import re
from collections.abc import Awaitable, Callable
from functools import partial
from inspect import isawaitable

from pydantic import ConfigDict, TypeAdapter
from typing_extensions import TypedDict

from teams._base.workers import in_daemon_worker
from teams.experimental.task_centric_memory import _asking as prompts
from teams.experimental.task_centric_memory._asking import Grader, PageLogger
from teams.experimental.task_centric_memory._bank import Memo, MemoryBank, MemoryBankConfig
from teams.models._client import ChatCompletionClient

Attempt = tuple[str, str]
"""An agent's response to a task, and the work that led to it."""


_BANK = "memos"
"""Name of the worker that reads and writes files."""


class MemoryControllerConfig(TypedDict, total=False):
    """Settings of a memory controller; see the tutorial."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # pyright: ignore[reportGeneralTypeIssues]
    generalize_task: bool
    revise_generalized_task: bool
    generate_topics: bool
    validate_memos: bool
    max_memos_to_retrieve: int
    max_train_trials: int
    max_test_trials: int
    MemoryBank: MemoryBankConfig


class MemoryController:
    """Gives tasks to an agent together with what was learned before.

    The callback has an agent do a task; it returns its response and its work. `reset` forgets all
    memos first. A memo is kept as `masked` returns its texts.
    """

    def __init__(
        self,
        reset: bool,
        client: ChatCompletionClient,
        task_assignment_callback: Callable[[str], Awaitable[Attempt]] | None = None,
        config: MemoryControllerConfig | None = None,
        logger: PageLogger | None = None,
        *,
        masked: Callable[[str], str] = str,
    ) -> None:
        self.logger = logger or PageLogger()
        self._client = client
        self._masked = masked
        self._callback = task_assignment_callback
        self._config = TypeAdapter(MemoryControllerConfig).validate_python(config or {})
        self._grader = Grader(client, self.logger)
        self._bank = MemoryBank(self._config.get("MemoryBank", {}))
        if reset:
            self.reset_memory()

    def reset_memory(self) -> None:
        """Forget all memos."""
        self._bank.reset()

    async def add_memo(
        self, insight: str, task: str | None = None, index_on_both: bool = True
    ) -> None:
        """Keep an insight, filed under the task's topics and its own."""
        insight, task = self._masked(insight), task and self._masked(task)
        topics = [] if task is None else await self._topics(task, is_task=True)
        if task is None or index_on_both:
            topics += await self._topics(insight, is_task=False)
        memo = Memo(task=task, insight=insight, topics=tuple(topics))
        await in_daemon_worker(partial(self._bank.add, memo), name=_BANK)

    async def add_task_solution_pair_to_memory(self, task: str, solution: str) -> None:
        """Keep a demonstration: a task and its solution."""
        await self.add_memo(f"Task:\n{task}\n\nSolution:\n{solution}", task, index_on_both=False)

    async def retrieve_relevant_memos(self, task: str) -> list[Memo]:
        """Memos that help with the task, the most relevant first."""
        if not await in_daemon_worker(self._bank.memos, name=_BANK):
            return []
        topics = await self._topics(task, is_task=True)
        found = await in_daemon_worker(partial(self._bank.find, topics), name=_BANK)
        if found and self._config.get("validate_memos", True):
            insights = "\n".join(f"{at}. {memo.insight}" for at, memo in enumerate(found, 1))
            chosen = await self._ask(prompts.VALIDATE, task=task, insights=insights)
            numbers = re.findall(r"\d+", chosen)
            found = [memo for at, memo in enumerate(found, 1) if str(at) in numbers]
        return found[: self._config.get("max_memos_to_retrieve", 10)]

    async def consider_memo_storage(self, text: str) -> str | None:
        """Keep the advice in the text; returns it, or None."""
        advice = await self._ask(prompts.ADVICE, text=text)
        if advice.strip(" .").upper() in ("", "NONE"):
            return None
        await self.add_memo(advice)
        return advice

    async def assign_task(
        self, task: str, use_memory: bool = True, should_await: bool = True
    ) -> str:
        """The agent's response; a callback that isn't async works, too."""
        memos = await self.retrieve_relevant_memos(task) if use_memory else []
        return (await self._attempt(task, [memo.insight for memo in memos]))[0]

    async def handle_user_message(self, text: str, should_await: bool = True) -> str:
        """The agent's response to a message, whose advice is kept."""
        await self.consider_memo_storage(text)
        return await self.assign_task(text, should_await=should_await)

    async def test_on_task(
        self, task: str, expected_answer: str, num_trials: int = 1
    ) -> tuple[str, int, int]:
        """The last response, the number of right ones, and of trials."""
        response, right = "", 0
        for _ in range(num_trials):
            response = await self.assign_task(task)
            right += (await self._grader.is_response_correct(task, response, expected_answer))[0]
        return response, right, num_trials

    async def train_on_task(self, task: str, expected_answer: str) -> None:
        """Try insights until the task succeeds; keep the one that made it."""
        known = [memo.insight for memo in await self.retrieve_relevant_memos(task)]
        insight = ""
        for _ in range(self._config.get("max_train_trials", 10)):
            insights = [*known, insight] if insight else known
            failure = await self._find_failure(task, expected_answer, insights)
            if failure is None:
                return await self.add_memo(insight, task) if insight else None
            texts = {"expected answer": expected_answer, "insights so far": "\n".join(insights)}
            texts |= {"response": failure[0], "work": failure[1]}
            insight = await self._ask(prompts.LEARN, task=task, **texts)
        return None

    async def _find_failure(self, task: str, answer: str, insights: list[str]) -> Attempt | None:
        """The first wrong attempt; None if all are right."""
        for _ in range(self._config.get("max_test_trials", 3)):
            attempt = await self._attempt(task, insights)
            if not (await self._grader.is_response_correct(task, attempt[0], answer))[0]:
                return attempt
        return None

    async def _attempt(self, task: str, insights: list[str]) -> Attempt:
        if self._callback is None:
            raise ValueError("Without task_assignment_callback nobody can be given a task.")
        answer = self._callback(f"{task}\n\n{prompts.recalled(insights)}" if insights else task)
        return await answer if isawaitable(answer) else answer

    async def _topics(self, text: str, *, is_task: bool) -> list[str]:
        """Topics under which to file or look; by default the text itself."""
        if is_task and self._config.get("generalize_task", True):
            revised = self._config.get("revise_generalized_task", True)
            question = f"{prompts.GENERALIZE} {prompts.REVISE}" if revised else prompts.GENERALIZE
            text = await self._ask(question, task=text) or text
        if not self._config.get("generate_topics", True):
            return [text]
        told = await self._ask(prompts.TOPICS, text=text)
        return [topic for line in told.splitlines() if (topic := line.strip(" -*."))] or [text]

    async def _ask(self, question: str, **texts: str) -> str:
        return await prompts.ask(self._client, self.logger, question, **texts)
