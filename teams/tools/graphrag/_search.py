"""Global and local search as tools."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, Self, TypeVar

from pydantic import BaseModel, Field
from typing_extensions import override

from teams._base.cancellation import CancellationToken
from teams._base.extras import needs_extra
from teams._base.workers import in_daemon_worker
from teams._tools.base import BaseTool, ToolTraits
from teams.tools.graphrag._config import (
    GlobalContextConfig,
    GlobalDataConfig,
    LocalContextConfig,
    LocalDataConfig,
    MapReduceConfig,
    SearchConfig,
)

DEADLINE = 600.0
"""Seconds for a whole search."""


class GlobalSearchToolArgs(BaseModel, defer_build=True):
    """The model's argument."""

    query: str = Field(description="The question about all of the texts.")


class GlobalSearchToolReturn(BaseModel, defer_build=True):
    """The answer."""

    answer: str


class LocalSearchToolArgs(BaseModel, defer_build=True):
    """The model's argument."""

    query: str = Field(description="The question about single people, places or things.")


class LocalSearchToolReturn(BaseModel, defer_build=True):
    """The answer."""

    answer: str


ArgsT = TypeVar("ArgsT", GlobalSearchToolArgs, LocalSearchToolArgs)
ReturnT = TypeVar("ReturnT", GlobalSearchToolReturn, LocalSearchToolReturn)


class _SearchTool(BaseTool[ArgsT, ReturnT], Generic[ArgsT, ReturnT]):
    """Asks an engine in a worker.

    Engines count tokens, embed and read tables without awaiting.
    """

    traits = ToolTraits(read_only=True, idempotent=True)

    @abstractmethod
    def _engine(self, model: Any) -> Any:
        """The engine over that model; reads the tables at each search."""

    _llm: Any
    _encoder: Any

    @override
    async def run(self, args: ArgsT, cancellation_token: CancellationToken) -> ReturnT:
        """The answer.

        Raises ValueError if there is none, and TimeoutError if it takes too long.
        """
        model = _Noted(self._llm)
        try:
            async with asyncio.timeout(DEADLINE):
                answer = await _in_own_loop(
                    lambda: self._engine(model).stream_search(args.query), f"tool {self.name}"
                )
        except TimeoutError as error:
            raise TimeoutError(f"{self.name} has no answer within {DEADLINE:g} s.") from error
        # GraphRAG only logs what fails, and says that it does not know.
        if model.failure and (not answer or answer == _module().NO_DATA_ANSWER):
            raise ValueError(f"GraphRAG's model failed: {model.failure}") from model.failure
        return self._return_type(answer=answer)


class GlobalSearchTool(_SearchTool[GlobalSearchToolArgs, GlobalSearchToolReturn]):
    """Answers questions about a whole index from its community reports.

    `token_encoder` is an encoding of tiktoken or a tokenizer of GraphRAG, or None for the model's;
    `model` is a completion model of GraphRAG 3. Raises ImportError without the extra `graphrag`.
    """

    def __init__(
        self,
        token_encoder: Any,
        model: Any,
        data_config: GlobalDataConfig,
        context_config: GlobalContextConfig | None = None,
        mapreduce_config: MapReduceConfig | None = None,
    ) -> None:
        _module()
        self._llm = model
        context = context_config or GlobalContextConfig()
        self._settings = (data_config, context, mapreduce_config or MapReduceConfig())
        self._encoder = token_encoder
        about = "Answer a question about the whole data set, such as its main themes."
        arguments = (GlobalSearchToolArgs, GlobalSearchToolReturn, "global_search_tool", about)
        super().__init__(*arguments)

    @classmethod
    def from_settings(cls, root_dir: str | Path, config_filepath: str | Path | None = None) -> Self:
        """A tool for GraphRAG's project folder. Raises ValueError without a model."""
        engine = _module()
        config = engine.load_settings(root_dir, config_filepath)
        data = GlobalDataConfig(input_dir=config.output_storage.base_dir)
        return cls(None, engine.completion_model(config, config.global_search), data)

    @override
    def _engine(self, model: Any) -> Any:
        return _module().global_engine(self._encoder, model, *self._settings)


class LocalSearchTool(_SearchTool[LocalSearchToolArgs, LocalSearchToolReturn]):
    """Answers questions about single entities of an index.

    As `GlobalSearchTool`; `embedder` is an embedding model of GraphRAG 3. The vectors are in the
    folder `lancedb` beside the tables unless `vector_store` says otherwise.
    """

    def __init__(
        self,
        token_encoder: Any,
        model: Any,
        embedder: Any,
        data_config: LocalDataConfig,
        context_config: LocalContextConfig | None = None,
        search_config: SearchConfig | None = None,
        *,
        vector_store: Any = None,
    ) -> None:
        vectors = vector_store or _module().vector_store_of(data_config.input_dir)
        self._llm, self._embedder, self._encoder = model, embedder, token_encoder
        context = context_config or LocalContextConfig()
        self._settings = (data_config, context, search_config or SearchConfig(), vectors)
        about = "Answer a question about single people, places or things of the data set."
        arguments = (LocalSearchToolArgs, LocalSearchToolReturn, "local_search_tool", about)
        super().__init__(*arguments)

    @classmethod
    def from_settings(cls, root_dir: str | Path, config_filepath: str | Path | None = None) -> Self:
        """A tool for GraphRAG's project folder. Raises ValueError without its models."""
        engine = _module()
        config = engine.load_settings(root_dir, config_filepath)
        return cls(
            None,
            engine.completion_model(config, config.local_search),
            engine.embedding_model(config, config.local_search),
            LocalDataConfig(input_dir=config.output_storage.base_dir),
            vector_store=config.vector_store,
        )

    @override
    def _engine(self, model: Any) -> Any:
        return _module().local_engine(self._encoder, model, self._embedder, *self._settings)


class _Noted:
    """A model that remembers its last failure."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.failure: Exception | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def completion_async(self, **arguments: Any) -> Any:
        try:
            return await self._model.completion_async(**arguments)
        except Exception as error:
            self.failure = error
            raise


async def _in_own_loop(answer: Callable[[], AsyncIterator[str]], name: str) -> str:
    """The joined answer of a search; a cancelled caller cancels it, too."""
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []

    async def joined() -> str:
        task = asyncio.current_task()
        assert task is not None
        running.append((asyncio.get_running_loop(), task))
        return "".join([piece async for piece in answer()])

    try:
        return await in_daemon_worker(lambda: asyncio.run(joined()), name=name)
    except asyncio.CancelledError:
        for loop, task in running:
            with suppress(RuntimeError):  # it is over
                loop.call_soon_threadsafe(task.cancel)
        raise


def _module() -> ModuleType:
    with needs_extra("GraphRAG needs an environment with", "graphrag"):
        from teams.tools.graphrag import _engine  # it imports an optional package

    return _engine
