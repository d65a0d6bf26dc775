"""Tokens of Entra ID, from a credential or a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from teams._base.workers import in_daemon_worker, is_async
from teams.models._errors import BadCredentials


async def entra_token(get: Callable[[], Any], model: str, address: str) -> str:
    """The token that `get` returns, alone or as an AccessToken.

    It may be a coroutine function; one that blocks runs beside the loop. Raises BadCredentials
    where it fails.
    """
    try:
        given: Any = await (get() if is_async(get) else in_daemon_worker(get, name="token"))
        if inspect.isawaitable(given):
            given = await given
        return given if isinstance(given, str) else given.token
    except Exception as error:
        raise BadCredentials(
            f"The credential gave no token (model {model!r} at {address}): {error}",
            model=model,
            endpoint=address,
        ) from error
