"""One turn: a run of the team, shown and saved.

The team is pulled at its own pace: no tool runs, and nothing is shown, before what came ahead of it
is stored. A message is stored while the team sees who is next: with the end of the turn, if that is
all that comes. What a turn needs to go on after a crash, a shutdown or days of waiting is in the
store before anybody sees it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import Any

from gateway.access.tool_policy import MEMORY
from gateway.base.cancelling import is_being_cancelled
from gateway.content.task import OURS, task_of
from gateway.errors import (
    NOT_SHORTENED,
    UNDECIDED,
    BudgetSpent,
    GatewayError,
    TeamUnusable,
    causes,
    report,
)
from gateway.events import (
    CONTINUE,
    RETRY,
    ContextFill,
    MessageFinished,
    Notice,
    SessionEvent,
    SpeakerStarted,
    TextDelta,
    shows_work,
)
from gateway.factory.memory import TurnMemory, remembering
from gateway.registry import TeamInfo
from gateway.sessions.addressing import CAN_GO_ON, call_addressee, can_call, go_on
from gateway.sessions.compaction import NOTHING, STILL_FAILED, obstacle_to, summaries
from gateway.sessions.context_marks import ContextMarks, Rules
from gateway.sessions.event_mapper import EventMapper
from gateway.sessions.human_requests import HumanRequests
from gateway.sessions.known_tools import KnownTools
from gateway.sessions.large_results import LargeResults
from gateway.sessions.last_word import failed_notice
from gateway.sessions.live_team import LiveTeam
from gateway.sessions.output_files import OutputFiles
from gateway.sessions.server_questions import elicit, judge_within
from gateway.sessions.silence import Silence
from gateway.sessions.steering import Steering, SteeringWatch
from gateway.sessions.tool_gate import ToolGate
from gateway.sessions.tracing import TRACES
from gateway.sessions.turn_log import log_endings
from gateway.sessions.turn_settings import TurnSettings
from gateway.sessions.turn_writer import TurnWriter
from gateway.store.records import CallRow, Checkpoint, OpenMessage
from gateway.store.turn_records import (
    AsideChoice,
    ClaimedTurn,
    QueuedMessage,
    TurnEnd,
    TurnUpdate,
)
from gateway.values import PLAIN_MANNERS
from teams.base import TaskResult, ToolCall, run_hooks
from teams.core import CancellationToken
from teams.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    ContextSummaryEvent,
    HandoffMessage,
    MemoryQueryEvent,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
    UserInputRequestedEvent,
)
from teams.models import ContextOverflow, SystemMessage, UserMessage, thinking_aloud
from teams.tools import ToolResult, Workbench

SHOW_EVERY = 2.0
"""Seconds between two writes of the text of a message that still grows."""
SHOW_OTHERS_EVERY = 1.25
"""The same where other nodes read it: their watchers have it in two seconds, signals or not."""

SILENT = "There is no answer: the team ended without a word."

Build = Callable[[], Awaitable[LiveTeam]]
Proceed = Callable[[ToolCall], Awaitable[ToolResult]]


class Turn:
    """A turn, until it is done, waiting, stopped, failed or paused."""

    def __init__(
        self,
        work: ClaimedTurn,
        log: TurnWriter,
        info: TeamInfo,
        rules: Rules,
        terms: TurnSettings,
        explain: Callable[[BaseException], str],
        memory: TurnMemory,
        tools: KnownTools,
    ) -> None:
        self.id = work.lease.turn
        self.intact = False
        """The team has come to an end of its own: it can be used again as it stands."""
        self.manners = PLAIN_MANNERS
        self.ended = "cut short"
        """Status in which it left its lane."""
        self._work = work
        self._log = log
        self._participants: Collection[str] = info.participants
        self._rules = rules
        self._terms = terms
        self._explain = explain
        self._memory = memory
        self._tools = tools
        self._mapper = EventMapper(
            log.thread,
            log.turn,
            info.models,
            people=self._requests.proxies if work.requests else (),
            resumed=work.open_messages,
            found=work.found,
            cost=log.meter.cost,
        )
        self._token = CancellationToken()
        log.unwritable = self._token.cancel
        self._leaving = False
        self._silence = Silence(log)
        self._files: OutputFiles | None = None
        self._fill: Callable[[], tuple[ContextFill, ...]] = tuple
        self._acts = False
        self._folder: Path | None = None
        self._results = LargeResults(terms.largest_result)
        self._steering = Steering(
            work,
            log,
            lambda: self._gate,
            lambda: self._marks,
            wanted=work.thread.mode == "steer",
        )
        self._too_long = False
        self._choosing: AsideChoice | None = None
        """The decision about what was too long, while it is carried out."""
        self._learned = self._told_foreign = False
        self._unwritten: list[SessionEvent] = []
        self._shown_at = 0.0
        self._began, self._unsaid = monotonic(), True
        self._handoff_from = work.thread.handoff_from
        self._handoff_written = work.thread.handoff_from

    @cached_property
    def _requests(self) -> HumanRequests:
        """Questions to people; most turns ask none."""
        work = self._work
        return HumanRequests(self._log, work.requests, self._terms, work.asker.id)

    @cached_property
    def _gate(self) -> ToolGate:
        """Gate of the tool calls; most turns need none."""
        return ToolGate(
            self._log,
            self._requests,
            self._marks,
            self._tools,
            self._work.calls,
            self._results,
            self._folder,
        )

    @cached_property
    def _marks(self) -> ContextMarks:
        """Marks of the team's context; most turns need none."""
        work = self._work
        return ContextMarks(
            self._rules,
            people=(work.asker, *work.others),
            untrusted=work.untrusted,
            granted=work.grants,
        )

    def _reader(self) -> Workbench:
        """The tool to read on with, which is always allowed."""
        from gateway.sessions.aside import Reader  # few threads need it

        reader = Reader(self._log.kept_text)
        self._rules = reader.with_own(self._rules)
        return reader

    def stop(self) -> None:
        """End the turn at once: a person wants it."""
        self._token.cancel()

    def steer(self) -> None:
        """Take up, at the next safe point, what waits to join."""
        self._steering.wanted = True

    def revoke(self, tool: str) -> None:
        """Revoke a tool that was approved for the thread."""
        self._marks.revoke(tool)

    def pause(self) -> None:
        """End this attempt at the next safe point: the process ends."""
        self._leaving = True

    async def run(self, build: Build) -> bool:
        """Run the team; True if the thread has more to do.

        Raises GatewayError if the store fails or the lease is lost; the turn then goes on later.
        """
        if self._work.stop:
            self.stop()
        live: LiveTeam | None = None
        try:
            live = await build()
            self._folder = self._results.folder = live.folder
            live.said.update(self._work.said)
            self._mapper.said, self._mapper.signs_off = live.said, live.signs_off
            self._mapper.hides_thoughts = self.manners.reasoning == "hide"
            self._files, self._acts, self._fill = self._files_of(live), live.acts, live.fill
            live.keeps |= self._work.aside is not None and self._work.aside.way == "attach"
            reader = self._reader() if live.keeps else None
            told = await live.instructions() if live.instructions else None
            if own := self.manners.instructions:
                told = told or {}
                told = {**told, "": [*told.get("", ()), SystemMessage(content=own)]}
            texts = chain.from_iterable(told.values()) if told else ()
            self._told_foreign = any(isinstance(each, UserMessage) for each in texts)
            timer = self._timer()
            try:
                # Code that wants to run is a tool call like any other: it is not approved twice.
                with (
                    self._silence.watched(f"turn {self.id} waits for a model"),
                    remembering(self._memory),
                    thinking_aloud(self.manners.reasoning == "stream"),
                    run_hooks(
                        intercept=self._intercept,
                        ask=self._ask,
                        model=SteeringWatch(self._log.meter, self._steering),
                        between=self._steering.waiting_messages,
                        elicit=self._elicit,
                        largest_result=self._terms.largest_result,
                        listed=self._see,
                        workbench=reader,
                        instructions=told,
                    ),
                ):
                    return await self._drive(live)
            finally:
                if timer is not None:
                    timer.cancel()
        except asyncio.CancelledError:
            if live is None or not self._token.is_cancelled() or is_being_cancelled():
                await self._end_cut_short()
                raise
            return await self._end_stopped(live)
        except Exception as error:
            for cause in causes(error):
                if isinstance(cause, BudgetSpent):
                    return await self._end_over_budget(live, cause)
                if isinstance(cause, GatewayError) and not isinstance(cause, TeamUnusable):
                    await self._log.discard()
                    raise cause from error
            return await self._end_failed(live, error)

    async def _learn(self) -> None:
        """Let the marks know what the team has read before."""
        if not self._learned:
            found = await self._log.context()
            self._marks.learn(found.authors, found.outputs, untrusted=self._told_foreign)
            self._learned = True

    async def _intercept(self, call: ToolCall, proceed: Proceed) -> ToolResult:
        await self._learn()
        if call.within:
            return await judge_within(self._gate, self._requests, call, proceed)
        return await self._gate.intercept(call, proceed)

    async def _see(self, tools: Sequence[ToolCall]) -> None:
        asker = self._work.asker
        await self._tools.see([(tool, self._rules(tool, asker)) for tool in tools])

    async def _elicit(self, call: ToolCall, params: Mapping[str, Any]) -> Mapping[str, Any]:
        return await elicit(self._requests, call, params)

    async def _ask(self, prompt: str, token: CancellationToken | None) -> str:
        return await self._requests.ask(prompt, token)

    def _files_of(self, live: LiveTeam) -> OutputFiles | None:
        """Finder of the team's files; None without a folder."""
        if live.folder is None:
            return None
        told = max(self._work.thread.files_at, live.loaded_at)
        return OutputFiles(live.folder, told, largest=self._terms.largest_file)

    def _timer(self) -> asyncio.TimerHandle | None:
        """Timer that stops the run at the turn's time limit."""
        if (seconds := self._log.meter.seconds) is None:
            return None
        return asyncio.get_running_loop().call_later(seconds, self._time_is_up)

    def _time_is_up(self) -> None:
        self._too_long = True
        self.stop()

    async def _drive(self, live: LiveTeam) -> bool:
        task = None if self._work.failed else await self._task(live)
        if isinstance(task, str):
            return await self._end(None, TurnEnd(status="failed", reason=task))
        if self._work.compacts is not None:
            return await self._compact(live, self._work.compacts)
        while True:
            stream = live.team.run_stream(
                task=task, cancellation_token=self._token, output_task_messages=False
            )
            async with aclosing(stream):
                async for item in stream:
                    if isinstance(item, TaskResult):
                        break
                    await self._handle_item(live, item)
                    if self._leaving:
                        return await self._end_paused(live)
                else:
                    raise RuntimeError("The team's run ended without a result.")
            if item.pending or not self._steering.unheard:
                return await self._end_run(live, item)
            task = None  # it ended before anybody could heed what had joined
            await self._log.write(self._record(await live.checkpoint()))
            self._steering.mark_heard()

    async def _task(self, live: LiveTeam) -> list[BaseChatMessage] | str | None:
        """Task of the run; None if the team has it already.

        A sentence says why there can't be a run.
        """
        work = self._work
        if work.aside is not None:
            return await self._task_aside(live, work.aside)
        if not work.delivered or live.anew:
            anew, live.anew = live.anew, False
            if anew:  # the store has forgotten it, too
                self._handoff_from = self._handoff_written = ""
            if work.continues is not None:
                return await go_on(live, work.continues.agent)
            back_to = self._handoff_from if live.hands_off else ""
            if work.broken:
                await live.break_off(() if anew else work.half)
            messages = self._steering.untold_messages(anew=anew)
            if work.compacts is not None:  # they are told, and nobody is asked
                live.team.add_messages(self._steering.task(messages, handoff_to=""))
                return None
            call = await call_addressee(live, messages, self._participants)
            if call.notice:
                self._unwritten.append(self._notice(call.notice))
            return self._steering.task(messages, handoff_to=call.handoff_to or back_to)
        if left := self._steering.unsaved_messages():
            live.team.add_messages(left)
        return None

    async def _task_aside(self, live: LiveTeam, choice: AsideChoice) -> list[BaseChatMessage] | str:
        """Task that stands for what was set aside."""
        from gateway.sessions.aside import Shortener  # few turns need it

        work, anew, live.anew = self._work, live.anew, False
        messages = list[QueuedMessage]()
        shorten = Shortener(choice, live.client_of(choice.agent), self._token)
        self._choosing = choice
        if is_result := choice.kind == "result" and not anew:
            messages.append(await shorten.result(work, self._log.kept_text))
        else:
            messages += await shorten.messages(work.messages)
        self._choosing = None
        if not anew:
            await live.break_off(())
        self._steering.give(choice.inbox)
        if is_result:
            told = task_of(messages, work.thread.key, shared=False, handoff_to="")
            return [each.model_copy(update={"source": OURS}) for each in told]
        if work.continues is not None:
            return await go_on(live, work.continues.agent)
        call = await call_addressee(live, work.messages, self._participants)
        return self._steering.task(messages, handoff_to=call.handoff_to)

    async def _compact(self, live: LiveTeam, about: str) -> bool:
        """Let agents summarise what was said; nobody speaks."""
        obstacle = await obstacle_to(live.contexts, about, self._work.asker, self._log, self._terms)
        if not obstacle:
            made = self._work.delivered and not self._work.failed  # before an interruption
            await live.catch_up()
            async with aclosing(summaries(live.contexts, about, self._token)) as events:
                async for event in events:
                    made = True
                    await self._handle_item(live, event)
                    if self._leaving:
                        return await self._end_paused(live)
            obstacle = "" if made else NOTHING
        if obstacle:
            self._unwritten.append(replace(self._notice(obstacle), level="info"))
        if (failed := self._work.failed) is not None:
            return await self._end_as_failed(live, failed)
        again = await self._end(await live.checkpoint(), TurnEnd(status="done"))
        self.intact = True
        return again

    async def _handle_item(self, live: LiveTeam, item: BaseAgentEvent | BaseChatMessage) -> None:
        self._silence.hear()
        message = item if isinstance(item, BaseChatMessage) else None
        to_people = False
        if message is not None and live.hands_off:
            to_people = self._note_handoff(message)
        elif isinstance(item, UserInputRequestedEvent):
            self._requests.note_agent(item)
        else:
            await self._note_sources(live, item)
        deltas: list[TextDelta] = []
        for event in self._mapper.map_item(item, to_people=to_people):
            if isinstance(event, TextDelta):
                deltas.append(event)
            else:
                self._unwritten.append(event)
                self._offer(live, event)
        if message is not None or isinstance(item, UserInputRequestedEvent):
            if not live.is_at_end:  # after a kill, a question is asked under the same id again
                await self._log.put_off(self._record(await live.checkpoint()))
        elif _matters(item) or any(isinstance(e, MessageFinished) for e in self._unwritten):
            if isinstance(item, ToolCallExecutionEvent):
                live.team.add_messages(await self._steering.after_tools(item))
            await self._log.write(self._record(await live.checkpoint()))
        elif any(isinstance(event, SpeakerStarted) for event in self._unwritten):
            await self._show_speaker()
        if deltas or (self._unsaid and message is not None):
            await self._show(deltas)

    def _offer(self, live: LiveTeam, event: SessionEvent) -> None:
        """Offer to go on with an answer that was cut."""
        if not isinstance(event, MessageFinished) or event.ending != "cut":
            return
        if can_call(live, event.agent):
            notice = self._notice(CAN_GO_ON.format(name=event.agent), CONTINUE, "Continue")
            self._unwritten.append(replace(notice, level="info", over=CONTINUE))

    async def _show(self, deltas: Sequence[TextDelta]) -> None:
        """Show growing text, keep it now and then, time the first."""
        if self._unsaid:
            self._unsaid = False
            seconds = monotonic() - self._began
            self._log.meter.vitals.first_text.labels(self._work.thread.team).observe(seconds)
            self._log.meter.first_text = seconds
            if (key := self._work.thread.key).is_local and not self._work.resumed:  # shown at once
                waited = max(0.0, self._terms.clock() - self._work.asked_at)
                shown = self._log.meter.vitals.first_visible_text.labels(key.platform)
                shown.observe(waited)
        self._log.show(deltas)
        every = SHOW_OTHERS_EVERY if self._terms.has_others() else SHOW_EVERY
        if deltas and asyncio.get_running_loop().time() - self._shown_at >= every:
            await self._log.write(TurnUpdate(shown=self._mapper.open_messages()))
            self._shown_at = asyncio.get_running_loop().time()

    async def _note_sources(self, live: LiveTeam, item: BaseAgentEvent | BaseChatMessage) -> None:
        """Mark the context for text of memories and hosted tools."""
        match item:
            case MemoryQueryEvent(content=found):  # a memory's first contents are known
                told = any(str(each.content) not in live.memories for each in found)
                names = {MEMORY} if told else set[str]()
            case ToolCallExecutionEvent(content=results, metadata={"hosted": _}):
                names = {result.name for result in results}
            case _:
                return
        if names:
            await self._learn()
        for name in sorted(names):
            if self._marks.add_source(name):
                row = CallRow(
                    key=f"{name}:{item.id}",
                    agent=(item.source,),
                    tool=name,
                    arguments_hash="",
                    status="finished",
                    outcome="done",
                )
                await self._log.write(TurnUpdate(calls=(row,)))

    def _note_handoff(self, message: BaseChatMessage) -> bool:
        """True for a hand-off to people, whose next message leads back."""
        outside = isinstance(message, HandoffMessage) and message.target not in self._participants
        self._handoff_from = message.source if outside else ""
        return outside

    async def _show_speaker(self) -> None:
        """Show the speaker at once; other events wait for the state."""
        started = tuple(event for event in self._unwritten if isinstance(event, SpeakerStarted))
        self._unwritten = [e for e in self._unwritten if not isinstance(e, SpeakerStarted)]
        await self._log.write(TurnUpdate(events=started, shown=self._mapper.open_messages()))
        self._shown_at = asyncio.get_running_loop().time()

    async def _end(
        self, checkpoint: Checkpoint | None, end: TurnEnd, calls: Collection[CallRow] = ()
    ) -> bool:
        """Write the end of this attempt; True for more to do."""
        files_at: int | None = None
        acts = self._acts or self._results.kept
        if self._files is not None and acts and end.status != "paused":
            made, files_at = await self._files.look(self._log.thread, self._log.turn)
            self._unwritten += made
        speaks = self._work.compacts is None
        if silent := speaks and end.status == "done" and await self._is_silent():
            self._unwritten.append(self._notice(SILENT, RETRY))
            end = TurnEnd(status="failed", reason=SILENT)
        if fill := self._fill():
            end = replace(end, fill=fill)
        shown = self._mapper.open_messages()
        record = self._record(checkpoint, shown=shown, calls=calls, files_at=files_at, end=end)
        recorded = await self._log.write(record)
        self.ended = "silent" if silent else end.status
        return recorded.again

    async def _is_silent(self) -> bool:
        """True if the team has shown nobody anything, in no attempt."""
        return not (any(map(shows_work, self._unwritten)) or await self._log.has_shown_work())

    def _record(
        self,
        checkpoint: Checkpoint | None,
        *,
        shown: Collection[OpenMessage] = (),
        calls: Collection[CallRow] = (),
        files_at: int | None = None,
        end: TurnEnd | None = None,
    ) -> TurnUpdate:
        """Update with the unwritten events; they are not kept for another."""
        events, self._unwritten = self._unwritten, []
        log_endings(events)
        handoff, known = self._handoff_from, self._handoff_written
        self._handoff_written = handoff
        return TurnUpdate(
            events=tuple(events),
            checkpoints=(checkpoint,) if checkpoint else (),
            shown=tuple(shown),
            sealed=tuple(each.message for each in events if isinstance(each, MessageFinished)),
            calls=tuple(calls),
            handoff_from=None if handoff == known else handoff,
            joined=tuple(self._steering.drain()) if checkpoint else (),
            files_at=files_at,
            end=end,
        )

    async def _end_run(self, live: LiveTeam, result: TaskResult) -> bool:
        checkpoint = await live.checkpoint()
        if result.pending:
            self._unwritten += self._mapper.take_back()
            await self._requests.record_pending(result.pending)
        else:
            self._unwritten += self._mapper.close(done=True)
        end = TurnEnd(
            status="waiting" if result.pending else "done", reason=result.stop_reason or ""
        )
        again = await self._end(checkpoint, end)
        self.intact = True
        return again

    async def _end_paused(self, live: LiveTeam) -> bool:
        return await self._end(await live.checkpoint(), TurnEnd(status="paused"))

    async def _end_stopped(self, live: LiveTeam) -> bool:
        calls = self._abandon(stopped=True)
        reason = "stopped"
        if self._too_long:
            reason = self._log.meter.too_long()
            self._unwritten.append(self._notice(reason))
        if (failed := self._work.failed) is not None:
            return await self._end_as_failed(live, failed)
        if self._choosing is not None:
            self._unwritten.append(self._offer_ways(self._notice(UNDECIDED), live))
        await live.team.abandon_turn()  # a run that was not taken up again is over as well
        end = TurnEnd(status="stopped", reason=reason)
        return await self._end(await live.checkpoint(), end, calls)

    async def _end_as_failed(self, live: LiveTeam, offer: Notice) -> bool:
        """Leave a failed turn as it was, and offer it again."""
        again = replace(self._notice(STILL_FAILED, RETRY), aside=offer.aside, agent=offer.agent)
        self._unwritten.append(replace(again, level="info"))
        end = TurnEnd(status="failed", reason=STILL_FAILED)
        return await self._end(await live.checkpoint(), end)

    async def _end_over_budget(self, live: LiveTeam | None, spent: BudgetSpent) -> bool:
        """Stop where the run stands; a message or /retry continues it."""
        calls, text = self._abandon(stopped=False), str(spent)
        self._unwritten.append(self._offer_ways(self._notice(text, RETRY), live))
        checkpoint = await self._last_checkpoint(live)
        again = await self._end(checkpoint, TurnEnd(status="failed", reason=text), calls)
        self.ended = "over budget"
        return again

    def _abandon(self, *, stopped: bool) -> list[CallRow]:
        """Close open messages and calls; the rows of the calls."""
        calls, events = self._gate.close_calls(stopped=stopped)
        self._unwritten += [*self._mapper.close(done=False, broken=not stopped), *events]
        return calls

    def _notice(self, text: str, command: str = "", label: str = "Try again") -> Notice:
        return Notice(
            thread=self._log.thread,
            turn=self._log.turn,
            text=text,
            level="warning",
            command=command,
            label=label if command else "",
        )

    async def _end_cut_short(self) -> None:
        """Pause at the last checkpoint, as the process can't wait."""
        with suppress(GatewayError):
            shown = self._mapper.open_messages()
            await self._log.write(TurnUpdate(shown=shown, end=TurnEnd(status="paused")))

    async def _end_failed(self, live: LiveTeam | None, error: Exception) -> bool:
        failure = report(
            error,
            thread=self._log.thread,
            turn=self._log.turn,
            local=self._work.thread.key.is_local,
            operator=self._terms.is_operator(self._work.asker),
        )
        explained = self._explain(error)
        too_long = next((each for each in causes(error) if isinstance(each, ContextOverflow)), None)
        if self._choosing is not None:  # each piece was too long, and not the thread
            text = "" if too_long else failure.text
            failure = replace(failure, text=f"{NOT_SHORTENED} {text}".rstrip())
            explained = explained and f"{NOT_SHORTENED} {explained}"
        kind = type(error.__cause__ or error).__qualname__
        TRACES.note({"error.type": kind, "parley.incident": failure.incident})
        calls = self._abandon(stopped=False)
        notice = failed_notice(self._log.thread, self._log.turn, failure)
        notice = self._offer_ways(replace(notice, for_operator=explained), live, too_long)
        if live is not None and too_long is not None and too_long.message:
            live.leave_out(too_long.message, too_long.NOTE)
        self._unwritten.append(notice)
        checkpoint = await self._last_checkpoint(live)
        return await self._end(checkpoint, TurnEnd(status="failed", reason=failure.text), calls)

    def _offer_ways(
        self, notice: Notice, live: LiveTeam | None, error: ContextOverflow | None = None
    ) -> Notice:
        """The notice, with an offer to decide about what is too long."""
        if (choice := self._choosing) is not None:
            return replace(notice, aside=choice.kind, agent=choice.agent)
        if error is None or not error.set_aside:
            return notice
        client = self._steering.overflowed
        agent = live.agent_of(client) if live is not None and client is not None else ""
        return replace(notice, aside=error.set_aside, agent=agent)

    async def _last_checkpoint(self, live: LiveTeam | None) -> Checkpoint | None:
        try:
            return None if live is None else await live.checkpoint()
        except Exception as error:  # an agent of somebody's may fail to save as it failed to speak
            report(error, thread=self._log.thread, turn=self._log.turn)
            return None


def _matters(item: BaseAgentEvent | BaseChatMessage) -> bool:
    """True to save the team before and after tools, and a summary."""
    saved = ToolCallRequestEvent | ToolCallExecutionEvent | ContextSummaryEvent
    return isinstance(item, saved)
