"""A model client that records a session, or plays one back."""

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter
from typing_extensions import override

from teams._base.safe_files import write_file
from teams.cache_store._base import InMemoryStore
from teams.experimental.task_centric_memory._asking import PageLogger
from teams.models._client import ChatCompletionClient
from teams.models.cache import (
    CHAT_CACHE_VALUE_TYPE,
    ChatCompletionCache,
    KeptAnswers,
    pieces_of,
)

_PIECES = TypeAdapter[Any](CHAT_CACHE_VALUE_TYPE, config=ConfigDict(defer_build=True))


class _Session(KeptAnswers[Any]):
    """Answers of a session; those of a recorded file alone, if any."""

    def __init__(self, answers: dict[str, list[Any]], recorded: Path | None) -> None:
        super().__init__(InMemoryStore())
        self._answers = answers
        self._recorded = recorded

    @override
    async def load(self, key: str) -> Any:
        if self._recorded is None:
            return None
        if not self._answers.get(key):
            raise ValueError(f"{self._recorded} holds no answer to this request.")
        return pieces_of(self._answers[key].pop(0))

    @override
    async def keep(self, key: str, answer: Any) -> None:
        self._answers.setdefault(key, []).append(_PIECES.dump_python(answer, mode="json"))


class ChatCompletionClientRecorder(ChatCompletionCache):
    """Records each request with its answer, or answers the same requests.

    `finalize` ends the session: it writes the file, or raises ValueError for recorded answers that
    nobody asked for. So does a request that is not in the record.
    """

    def __init__(
        self,
        client: ChatCompletionClient,
        mode: Literal["record", "replay"],
        session_file_path: str,
        logger: PageLogger | None = None,
    ) -> None:
        super().__init__(client)
        self._identity = "session"  # another client may play it back
        self._file = Path(session_file_path)
        self._replays = mode == "replay"
        self._answers: dict[str, list[Any]] = {}
        if self._replays:
            self._answers = json.loads(self._file.read_text("utf-8"))
        self._kept = _Session(self._answers, self._file if self._replays else None)

    def finalize(self) -> None:
        """End the session."""
        if not self._replays:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_file(self._file.parent, self._file.name, json.dumps(self._answers).encode())
        elif left := sum(map(len, self._answers.values())):
            raise ValueError(f"{left} answers of {self._file} were not asked for.")
