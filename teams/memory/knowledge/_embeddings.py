"""Vectors of texts from an OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import os
from array import array
from collections.abc import Sequence
from functools import partial
from math import hypot

from pydantic import BaseModel, ConfigDict, SecretStr

from teams._base.bounded.clients import http_client
from teams._base.workers import in_daemon_worker
from teams.models._settings import given_secret


class EmbeddingError(Exception):
    """An endpoint that gave no vectors."""


class EmbeddingEndpoint(BaseModel):
    """A model that makes vectors of texts, at an OpenAI-compatible server.

    The key comes from `api_key` or OPENAI_API_KEY, as JSON holds none; the address from `base_url`
    or OPENAI_BASE_URL.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    model: str
    base_url: str | None = None
    api_key: SecretStr | None = None

    @property
    def given_key(self) -> str | None:
        """The key; None for the asterisks of a dumped component."""
        return given_secret(self.api_key)

    @property
    def label(self) -> str:
        """Name of its vectors, which differ from other models'."""
        return f"{self.model} {self.base_url or ''}"

    async def vectors(self, texts: Sequence[str], *, seconds: float) -> list[array[float]]:
        """The texts' vectors, each of length 1. Raises EmbeddingError."""
        # In a worker: reading a thousand numbers for each text takes its time.
        ask = partial(self._ask, [*texts], seconds)
        try:
            async with asyncio.timeout(seconds):
                return await in_daemon_worker(ask, name="embeddings")
        except TimeoutError as error:
            raise EmbeddingError(f"{self.model!r} gave no vectors in {seconds:g} s") from error

    def _ask(self, texts: list[str], seconds: float) -> list[array[float]]:
        import openai  # for start-up: it takes longer than all of `teams`

        key = self.given_key or os.environ.get("OPENAI_API_KEY") or "none"
        try:
            web = http_client(openai.DefaultHttpxClient)
            with openai.OpenAI(
                api_key=key, base_url=self.base_url, timeout=seconds, http_client=web
            ) as client:
                answer = client.embeddings.create(
                    model=self.model, input=texts, encoding_format="float"
                )
            found = [_unit(each.embedding) for each in answer.data]
            if len(found) != len(texts) or len({*map(len, found)}) != 1:
                raise ValueError("expected one vector for each text")  # noqa: TRY301 (likewise)
        except (openai.OpenAIError, AttributeError, TypeError, ValueError) as error:
            # Without the error's own words: they may hold a part of the key.
            said = f"{self.model!r} gave no vectors: {type(error).__name__}"
            raise EmbeddingError(said) from error
        return found


def _unit(numbers: Sequence[float]) -> array[float]:
    length = hypot(*numbers) or 1.0
    return array("f", (number / length for number in numbers))
