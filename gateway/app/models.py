"""The models of a config: their table, and whether they answer."""

from __future__ import annotations

import asyncio
import os
import re
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gateway.app.assemble import begin_network, model_addresses, require_network
from gateway.app.findings import PROBE_SECONDS, Finding
from gateway.app.load import LoadedConfig
from gateway.base.exit_codes import ExitCode
from gateway.base.suggest import no_such
from gateway.budgets.price_list import PriceList, context_size, more_prices
from gateway.config.root import Config
from gateway.errors import NotFound
from gateway.factory.advice import advise
from gateway.factory.model_clients import ModelClients
from gateway.render.sanitize import sanitize
from teams.kinds import ModelKind
from teams.models import UserMessage

HEAD = ("", "name", "provider", "model", "key", "context", "price in / out", "fallback")
UNKNOWN = "?"
NO_PRICE = (
    "note: no price of {model!r} is known, so that it counts as free; give it in [prices]{more}"
)
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class UnknownModelName(NotFound):
    """A command line names a model that the config lacks."""

    exit_code = ExitCode.USAGE


async def model_table(loaded: LoadedConfig, names: Sequence[str] = ()) -> str:
    """The models in columns, all or those of these names. Raises UnknownModelName."""
    begin_network(loaded)  # clients read the environment when they are made
    prices = PriceList(loaded.config)
    clients = ModelClients(loaded.config, loaded.imports)
    try:
        rows = [HEAD] + [_row(loaded, clients, prices, name) for name in _named(loaded, names)]
    finally:
        await clients.aclose()
    rows = [tuple(" ".join(sanitize(cell).split()) for cell in row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


async def probe_named(loaded: LoadedConfig, names: Sequence[str] = ()) -> list[Finding]:
    """Ask all models, or those of these names. Raises UnknownModelName."""
    named = _named(loaded, names)
    require_network(loaded, model_addresses(loaded.config))
    return await probe_models(loaded, named)


async def probe_models(loaded: LoadedConfig, names: Sequence[str] = ()) -> list[Finding]:
    """Ask each model once, without its fallback."""
    models = ModelClients(loaded.config, loaded.imports)
    try:
        async with asyncio.TaskGroup() as group:
            probes = [
                group.create_task(_probe(models, loaded, name), name=f"probe {name}")
                for name in names or loaded.config.models
            ]
    finally:
        await models.aclose()
    return [probe.result() for probe in probes]


def unpriced_models(config: Config) -> Iterator[Finding]:
    """Notes on models whose use can't be priced, where costs are counted."""
    if not (config.budgets or config.prices):
        return
    prices = PriceList(config)
    for name, model in config.models.items():
        used = model.resolved()
        if not used.is_local and used.model and used.model not in prices:
            text = NO_PRICE.format(model=used.model, more=more_prices())
            yield Finding(kind="price", name=name, good=True, text=text)


async def _probe(models: ModelClients, loaded: LoadedConfig, name: str) -> Finding:
    if loaded.config.models[name].resolved().kind.name == "demo":
        text = "the built-in demo model; set OPENAI_API_KEY for a real one"
        return Finding(kind="model", name=name, good=True, text=text)
    started = time.monotonic()
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            question = UserMessage(content="Answer with the word ok.", source="user")
            await models.alone(name).create([question])
    except TimeoutError:
        text = f"no answer within {PROBE_SECONDS:.0f} seconds"
        return Finding(kind="model", name=name, good=False, text=text)
    except Exception as error:  # a client class of the user's may raise anything
        text = advise(error, {name: loaded.config.models[name]})
        return Finding(kind="model", name=name, good=False, text=text)
    text = f"{models.label(name)} answered in {time.monotonic() - started:.1f} s"
    return Finding(kind="model", name=name, good=True, text=text)


def _named(loaded: LoadedConfig, names: Sequence[str]) -> list[str]:
    known = loaded.config.models
    for name in names:
        if name not in known:
            raise UnknownModelName(no_such("model", name, known))
    return list(dict.fromkeys(names)) or list(known)


def _row(
    loaded: LoadedConfig, clients: ModelClients, prices: PriceList, name: str
) -> tuple[str, ...]:
    model = loaded.config.models[name].resolved()
    price = prices.get(model.model)
    context = _context(clients, name, model)
    return (
        "*" if name == loaded.config.model_name() else "",
        name,
        model.provider,
        clients.label(name),
        _key_source(model, _written(loaded, name)),
        UNKNOWN if context is None else f"{context:,}",
        UNKNOWN if price is None else f"{price.input:g} / {price.output:g}",
        ", ".join(clients.chain(name)[1:]),
    )


def _written(loaded: LoadedConfig, name: str) -> Mapping[str, Any]:
    """The model's table as it stands in the file."""
    return tomllib.loads(loaded.text).get("models", {}).get(name, {})


def _key_source(model: ModelKind, written: Mapping[str, Any]) -> str:
    """The variable or file that holds the key, never the key."""
    match written:
        case {"api_key_env": str(variable)}:
            return variable
        case {"api_key_file": str(file)}:
            return f"file {file}"
        case {"api_key": str(text)} if found := _VARIABLE.fullmatch(text.strip()):
            return found[1]
        case {"api_key": _}:
            return "the config"
        case _:
            return _usual_key(model)


def _usual_key(model: ModelKind) -> str:
    """The variable that the client reads, and whether it is there."""
    variable = model.key_variable
    if os.environ.get(variable) or not variable:
        return variable or "none"
    if model.is_spoken and model.base_url:
        return "none"
    return model.keyless or f"{variable} is not set"


def _context(clients: ModelClients, name: str, model: ModelKind) -> int | None:
    """Size of the model's context, by its client or the catalog."""
    if model.is_local:
        return None
    try:
        client = clients.alone(name)
        return client.remaining_tokens([]) + client.count_tokens([])
    except Exception:  # no key, no SDK, or a model that it does not know
        return context_size(model)
