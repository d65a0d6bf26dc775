"""Budgets of turns: counted with each answer, checked before each request.

The store's rows are what counts; a `Ledger` keeps the sums that turns need in memory, so that turns
which run side by side share them at once, with what each is expected to use by a request that was
not answered yet. A `Meter` belongs to one turn.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias

from gateway.base.calendar import CalendarWindow, Scope, window_end, window_start
from gateway.base.metrics import Metrics
from gateway.budgets.allowance import Allowance, UsageSum, budgets_of, scope_names
from gateway.budgets.budget_notices import nearly_used_notice, substitution_notice, used_up_notice
from gateway.budgets.shares import BudgetShares, SharedSum
from gateway.config.budgets import Budget, Price
from gateway.conversation import Author
from gateway.errors import BudgetSpent
from gateway.registry import model_label
from gateway.store.records import ModelUse, UsageTotals
from gateway.store.shares import NOTHING, Amounts
from gateway.store.turn_records import ClaimedTurn
from gateway.values import value
from teams.models import ModelError

if TYPE_CHECKING:
    from teams.base import ModelRequest
    from teams.models import ChatCompletionClient, CreateResult
    from teams.models.fallback import Substitution

LOG = logging.getLogger("gateway")

KEPT = 4096
"""Sums that a ledger keeps; the one that was not needed for longest is read again when it is."""
WARN_AT = 0.8
"""The part of a budget at which the thread is told."""
LONG_ANSWER = 1000
"""Tokens that are expected of a model whose answers are not limited, until one was longer."""
PATIENCE = 120.0
"""Seconds for which a request waits for others to be answered that may use up its budget."""

Read = Callable[[Scope, str, float], Awaitable[UsageTotals]]
"""Usage of a scope and name since a time."""


_Key: TypeAlias = tuple[Scope, str, CalendarWindow]


class Ledger:
    """Sums counted against the budgets of one gateway.

    `read` sums what the store has; `exempt` says who has no budget as a person; people are told
    times in the `zone`. With `shares`, other nodes may use the same budgets.
    """

    def __init__(
        self,
        read: Read,
        *,
        budgets: Iterable[Budget] = (),
        prices: Mapping[str, Price] | None = None,
        exempt: Callable[[Author], bool],
        clock: Callable[[], float],
        vitals: Metrics,
        zone: str = "",
        shares: BudgetShares | None = None,
    ) -> None:
        self._read = read
        self.shares = shares
        self._exempt = exempt
        self.vitals = vitals
        self.clock = clock
        """Seconds since the epoch."""
        self._sums: OrderedDict[_Key, UsageSum] = OrderedDict()
        self._warned: set[tuple[str, str]] = set()
        """Models, and what was said of them."""
        self._told: OrderedDict[tuple[str, str, str], None] = OrderedDict()
        """Threads that know which model answers in the place of which."""
        self._longest: dict[str, int] = {}
        self.use(budgets, {} if prices is None else prices, zone)

    def use(self, budgets: Iterable[Budget], prices: Mapping[str, Price], zone: str) -> None:
        """Hold turns that begin from now on to these budgets."""
        self.zone = zone
        """The one in which people are told times."""
        self.budgets = tuple(budgets)
        """Budgets of turns from now on."""
        self._prices = prices

    async def meter(self, work: ClaimedTurn) -> Meter:
        """Meter of a new turn. Raises GatewayError where the store does."""
        if not self.budgets:
            return Meter(self, work, [])
        names = scope_names(work.thread, work.asker)
        held = [
            Allowance(budget, name, await self._sum(budget, name, work.used), self.zone)
            for budget, name in budgets_of(self.budgets, names, exempt=self._exempt(work.asker))
        ]
        return Meter(self, work, held)

    async def _sum(self, budget: Budget, name: str, of_turn: UsageTotals) -> UsageSum:
        if budget.window == "turn":
            return UsageSum(0.0, inf, of_turn.tokens, of_turn.cost)
        key: _Key = (budget.per, name, budget.window)
        now = self.clock()
        if (known := self._sums.get(key)) is None:
            start = window_start(budget.window, now)
            used = await self._read(budget.per, name, start)
            read = UsageSum(
                start, window_end(budget.window, now), used.tokens, used.cost, used.turns
            )
            # Another turn may have read it meanwhile, and counted on.
            known = self._sums.setdefault(key, read)
        self._sums.move_to_end(key)
        while len(self._sums) > KEPT:
            oldest, dropped = self._sums.popitem(last=False)
            if dropped.share != NOTHING or dropped.held != NOTHING:
                self._sums[oldest] = dropped  # other nodes would count it for ever
                break
        known.roll(budget.window, now)
        return known

    async def tell_shares(self) -> None:
        """Tell other nodes, if any, what this one holds."""
        if self.shares is not None:
            sums = [SharedSum(*key, each) for key, each in self._sums.items()]
            await self.shares.tell(sums)

    def forget_person(self, person: str) -> None:
        """Drop what is known of somebody who was deleted."""
        for key in [key for key in self._sums if key[:2] == ("person", person)]:
            del self._sums[key]

    def charge(self, team: str, model: str, read: int, written: int) -> float:
        """Count an answer of a model to a team; what it costs."""
        self._longest[model] = max(written, self._longest.get(model, 0))
        cost = self._cost(model, read, written)
        self.vitals.used(team, model, read, written, cost)
        return cost

    def substituted(self, substitution: Substitution, thread: str) -> bool:
        """Count an answer of another model.

        True if the thread was not told of it before.
        """
        missed, answered = substitution.missed, substitution.answered
        self.vitals.substituted(missed, answered, substitution.because.__name__)
        key = (thread, missed, answered)
        known = key in self._told
        self._told[key] = None
        self._told.move_to_end(key)
        while len(self._told) > KEPT:
            self._told.popitem(last=False)
        return not known

    def expects(self, request: ModelRequest) -> tuple[int, float]:
        """Most tokens that a request may take, and their cost."""
        model = model_label(request.client)
        written = request.max_answer_tokens()
        if written is None:
            written = max(LONG_ANSWER, self._longest.get(model, 0))
        read = _prompt_tokens(request)
        return read + written, self._cost(model, read, written)

    def measure(self, request: ModelRequest, answer: CreateResult) -> Measured:
        """Measure an answer: as it tells, and estimated elsewhere."""
        model, usage = model_label(request.client), answer.usage
        read, written, estimated = usage.prompt_tokens, usage.completion_tokens, 0
        if not read:
            estimated = read = _prompt_tokens(request)
        if not written:
            written = request.answer_tokens(answer)
            estimated += written
        if estimated:
            self._warn(model, "The model %r does not tell all that it uses: it is estimated")
        if usage.prompt_tokens + usage.completion_tokens > 2 * _window(request.client):
            self._warn(model, "The model %r tells more than twice what it can read: it is counted")
        return Measured(read=read, written=written, estimated=estimated)

    def _warn(self, model: str, said: str) -> None:
        """Say it of a model once."""
        if (model, said) not in self._warned:
            self._warned.add((model, said))
            LOG.warning(said, model)

    def cost(self, model: str, read: int, written: int) -> float | None:
        """Price tokens of a model; None where its price is not known."""
        price = self._prices.get(model)
        return price and (read * price.input + written * price.output) / 1_000_000

    def _cost(self, model: str, read: int, written: int) -> float:
        cost = self.cost(model, read, written)
        if cost is None and self._prices:
            self._warn(model, "There is no price for the model %r: it counts as free")
        return cost or 0.0


@value
class Measured:
    """Tokens read and written; `estimated`: how many of them nobody has told."""

    read: int
    written: int
    estimated: int


def _prompt_tokens(request: ModelRequest) -> int:
    try:
        return request.prompt_tokens()
    except Exception as error:  # somebody's own client; what it is asked is not to fail by that
        LOG.warning("%s can't count tokens: %r", type(request.client).__name__, error)
        return request.text_tokens()


def _window(client: ChatCompletionClient) -> float:
    """Tokens of the model's context; infinity where that is not known."""
    try:
        return client.remaining_tokens([]) + client.count_tokens([])
    except Exception:  # a model that it does not know
        return inf


class Meter:
    """Counter of a turn's usage (a `ModelWatch`), which enforces its budgets.

    A request waits while others, of this turn or of those beside it, may use up what is left: so
    all of them together exceed a budget by no more than one of them would.
    """

    def __init__(self, ledger: Ledger, work: ClaimedTurn, held: list[Allowance]) -> None:
        self._ledger = ledger
        self._thread = work.thread
        self._asker = work.asker
        self._counted = bool(work.used.turns)
        self._held = held
        self._limited = [
            each for each in held if (each.budget.tokens, each.budget.cost) != (None, None)
        ]
        self._uses: dict[str, ModelUse] = {}
        self._notices: list[str] = []
        self._unrecorded = self._on_its_way = NOTHING
        """Use that the store does not have yet; that which is being stored."""
        self._asked: dict[ModelRequest, float] = {}
        self._failed: set[str] = set()
        """Models whose last request failed."""
        self.tokens_in = self.tokens_out = self.model_calls = self.tool_calls = 0
        self.first_text: float | None = None
        """Seconds until the turn showed its first text."""

    @property
    def vitals(self) -> Metrics:
        """The gateway's figures."""
        return self._ledger.vitals

    @property
    def asked_at(self) -> float | None:
        """When the oldest request that is open was made; None without one."""
        return min(self._asked.values(), default=None)

    @property
    def seconds(self) -> float | None:
        """Seconds that the turn may run; None for any time."""
        limits = [held.budget.seconds for held in self._held if held.budget.seconds is not None]
        return min(limits, default=None)

    async def before_request(self, request: ModelRequest) -> None:
        """Count the turn, once. Raises BudgetSpent where a budget is used up."""
        self._check()
        with suppress(TimeoutError):
            while full := next((each.sum for each in self._limited if each.may_be_used_up()), None):
                async with asyncio.timeout(PATIENCE):
                    await full.settled.wait()
                self._check()
        if self._held and (shares := self._ledger.shares) is not None and shares.several():
            await self._share(shares, request)
        if not self._counted:
            self._counted = True
            if self._held:
                self._use(Amounts(turns=1))
        if self._limited:
            expected = self._ledger.expects(request)
            for held in self._limited:
                held.sum.expect(request, *expected)
        if self._failed and (model := model_label(request.client)) in self._failed:
            self._failed.remove(model)
            self.vitals.model_retries[model] += 1
        self._asked[request] = monotonic()
        self.model_calls += 1

    async def _share(self, shares: BudgetShares, request: ModelRequest) -> None:
        """Wait until other nodes leave enough of what is left.

        Raises BudgetSpent where a budget is used up.
        """
        tokens, cost = self._ledger.expects(request)
        turns = 0 if self._counted else 1
        wanted = Amounts(tokens=tokens, cost=cost, turns=turns)
        held = [each for each in self._held if each.budget.window != "turn"]
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while held:
                    before = [self._below(each) for each in held]
                    is_free = await shares.take(held, wanted)
                    for each, below in zip(held, before, strict=True):
                        self._warn(each, below)
                    if is_free:
                        break
                    self._check()
                    await shares.wait(held)

    def _check(self) -> None:
        for held in self._held:
            held.roll(self._ledger.clock())
            for what, used, limit in held.parts():
                if used >= limit and (what != "turns" or not self._counted):
                    raise BudgetSpent(
                        used_up_notice(held, what, limit, self._asker), held.budget.per
                    )

    def affords(self, request: ModelRequest) -> bool:
        """True if the request leaves something of every budget."""
        more = self._ledger.expects(request) if self._limited else (0, 0.0)
        return all(held.has_left(*more) for held in self._limited)

    def after_answer(self, request: ModelRequest, answer: CreateResult) -> None:
        """Count what a model has read and written."""
        self._settle(request)
        if (asked := self._asked.pop(request, None)) is not None:
            self.vitals.model.labels(model_label(request.client)).observe(monotonic() - asked)
        self._count(request.client, self._ledger.measure(request, answer))

    def after_no_answer(self, request: ModelRequest, *, written: int | None) -> None:
        """Count the approximate use of an answer that broke off."""
        self._settle(request)
        self._asked.pop(request, None)
        if written is not None:
            read = _prompt_tokens(request)
            self._count(
                request.client, Measured(read=read, written=written, estimated=read + written)
            )

    def after_error(self, request: ModelRequest, error: Exception) -> None:
        """Count a request that failed."""
        model = model_label(request.client)
        self._failed.add(model)
        kind = type(error) if isinstance(error, ModelError) else ModelError
        self.vitals.model_errors[model, kind.__name__] += 1

    def after_substitution(self, substitution: Substitution) -> None:
        """Tell the thread, once, that another model answers."""
        thread = self._thread
        if self._ledger.substituted(substitution, thread.id):
            self._notices.append(substitution_notice(substitution))

    def _settle(self, request: ModelRequest) -> None:
        for held in self._limited:
            held.sum.settle(request)

    def _count(self, client: ChatCompletionClient, measured: Measured) -> None:
        model, read, written = model_label(client), measured.read, measured.written
        cost = self._ledger.charge(self._thread.team, model, read, written)
        names = scope_names(self._thread, self._asker)
        use = ModelUse(
            model=model,
            person=names["person"],
            team=names["team"],
            workspace=names["workspace"],
            prompt_tokens=read,
            completion_tokens=written,
            estimated=measured.estimated,
            cost=cost,
        )
        self.tokens_in += read
        self.tokens_out += written
        self._note(use)
        for held in self._held:
            held.roll(self._ledger.clock())
        if self._held:
            self._use(Amounts(tokens=read + written, cost=cost))

    def _note(self, use: ModelUse) -> None:
        if (other := self._uses.get(use.model)) is not None:
            use = replace(
                use,
                prompt_tokens=use.prompt_tokens + other.prompt_tokens,
                completion_tokens=use.completion_tokens + other.completion_tokens,
                estimated=use.estimated + other.estimated,
                cost=use.cost + other.cost,
            )
        self._uses[use.model] = use

    def _use(self, used: Amounts) -> None:
        self._unrecorded = self._unrecorded.plus(used)
        for held in self._held:
            below = self._below(held)
            held.sum.add(used)
            self._warn(held, below)

    def _below(self, held: Allowance) -> list[bool]:
        """For each limit, True if its thread need not be warned yet."""
        return [used < WARN_AT * limit for _, used, limit in held.parts()]

    def _warn(self, held: Allowance, below: list[bool]) -> None:
        for (what, used, limit), was_below in zip(held.parts(), below, strict=True):
            if was_below and WARN_AT * limit <= used < limit:
                self._notices.append(nearly_used_notice(held, what, used, limit, self._asker))

    def drain(self) -> tuple[list[ModelUse], list[str]]:
        """Usage and notices since the last call."""
        uses, notices = list(self._uses.values()), self._notices
        self._uses, self._notices = {}, []
        if uses:
            self._on_its_way, self._unrecorded = self._unrecorded, NOTHING
        return uses, notices

    def recorded(self) -> None:
        """Note that the store has what was drained."""
        for held in self._held:
            held.sum.unrecorded = held.sum.unrecorded.minus(self._on_its_way)
        self._on_its_way = NOTHING

    def close(self) -> None:
        """Forget what will never be stored, as the turn was left."""
        self._on_its_way, self._unrecorded = self._on_its_way.plus(self._unrecorded), NOTHING
        self.recorded()

    def put_back(self, uses: Iterable[ModelUse], notices: list[str]) -> None:
        """Take back what could not be stored."""
        for use in uses:
            self._note(use)
        self._unrecorded = self._unrecorded.plus(self._on_its_way)
        self._on_its_way = NOTHING
        self._notices = notices + self._notices

    def cost(self, model: str, read: int, written: int) -> float | None:
        """Price tokens of a model; None where its price is not known."""
        return self._ledger.cost(model, read, written)

    def too_long(self) -> str:
        """Notice for a turn that has taken all its seconds."""
        held = min(
            (held for held in self._held if held.budget.seconds is not None),
            key=lambda held: held.budget.seconds or inf,
        )
        return used_up_notice(held, "seconds", held.budget.seconds or 0.0, self._asker)
