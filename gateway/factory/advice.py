"""Errors as sentences that the operator can act on.

`parley check` and the terminal say the same: the provider's words, and the setting to change.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import urlsplit

from gateway.base.describe import describe
from gateway.base.redaction import REDACTION
from gateway.errors import SET_ASIDE, TOO_LONG, TeamUnusable, ToolFailed, causes
from teams.base import TeamError
from teams.kinds import ModelKind
from teams.models import (
    BadAnswer,
    BadCredentials,
    BadRequest,
    ContentRefused,
    ContextOverflow,
    CutAnswer,
    ModelDisconnected,
    ModelError,
    ModelTimeout,
    ModelUnreachable,
    UnknownModel,
)

LONGEST = 800
"""Characters of an error that are shown; the log has the rest."""


def advise(error: BaseException, models: Mapping[str, ModelKind]) -> str:
    """The error without secrets, and the setting among `models` to change."""
    told = REDACTION.all(_told(error))
    told = told if len(told) <= LONGEST else f"{told[:LONGEST]}…"
    failed = next((each for each in causes(error) if isinstance(each, ModelError)), None)
    setting = "" if failed is None else _setting(failed, models)
    return f"{told} {setting}".rstrip()


def _told(error: BaseException) -> str:
    for cause in causes(error):
        match cause:
            case TeamUnusable() | ModelError():
                return describe(cause)
            case ToolFailed(tool=tool):
                return f"The tool {tool!r} failed: {describe(cause.__cause__ or cause)}"
            case _:
                pass
    bare = (each for each in causes(error) if not isinstance(each, TeamError | ExceptionGroup))
    return describe(next(bare, error))


def _setting(error: ModelError, models: Mapping[str, ModelKind]) -> str:
    """The setting that may be wrong, as a sentence; or ""."""
    name = next(_tables(error, models), "")
    if isinstance(error, ContextOverflow) and error.set_aside:
        return TOO_LONG[error.set_aside]
    if isinstance(error, ContextOverflow):
        return 'The model_context "auto" summarises what is old, a bounded one leaves it out.'
    if isinstance(error, ContentRefused):
        return SET_ASIDE
    return _setting_in(f"[models.{name}]", error, models[name]) if name else ""


def _setting_in(table: str, error: ModelError, model: ModelKind) -> str:
    match error:
        case BadCredentials() if model.api_key:
            said = f"Here the key comes from {table}: api_key_env or api_key_file or api_key."
        case BadCredentials() if os.environ.get(variable := model.resolved().key_variable):
            said = f"Here the key comes from the variable {variable}; {table} can name another."
        case BadCredentials() if model.resolved().argument("api_key"):
            said = f"Or set api_key_env in {table}."
        case UnknownModel():
            said = _place("model", table, model.variables("model"))
        case ModelTimeout():
            said = f"The setting is timeout in {table}."
        case CutAnswer():
            said = f"The settings are options in {table}."
        case ModelUnreachable() | BadAnswer() if not isinstance(error, ModelDisconnected):
            variables = () if model.base_url else model.resolved().variables("base_url")
            said = _place("base_url", table, variables)
        case BadRequest():
            said = f"The settings are options and model_info in {table}."
        case _:
            said = ""
    return said


def _place(setting: str, table: str, variables: Iterable[str]) -> str:
    if variable := next(filter(os.environ.get, variables), ""):
        return f"The setting is the variable {variable}."
    return f"The setting is {setting} in {table}."


def _tables(error: ModelError, models: Mapping[str, ModelKind]) -> Iterator[str]:
    """The tables of models that may have made the call."""
    for name, model in models.items():
        used = model.resolved()
        if not used.is_local and error.model in ("", used.model):
            address = used.address
            if not (address and error.endpoint) or _is_below(error.endpoint, address):
                yield name


def _is_below(endpoint: str, address: str) -> bool:
    """True for an endpoint at or below the address."""
    (host, path), (here, start) = _bare(endpoint), _bare(address)
    return host == here and (path == start or path.startswith(f"{start}/"))


def _bare(address: str) -> tuple[str, str]:
    parts = urlsplit(address)
    return parts.netloc.rpartition("@")[2], parts.path.rstrip("/")
