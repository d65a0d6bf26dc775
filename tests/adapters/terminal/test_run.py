"""One task from the command line: its output, questions and end."""

import asyncio
import errno
import io
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.terminal.run import Task, run_task
from adapters.terminal.run_output import OutputStyle
from gateway.base.exit_codes import ExitCode
from gateway.client import Answer, Client, Receipt, SentFile
from gateway.errors import GatewayClosed, GatewayError, NotFound
from gateway.events import (
    HumanText,
    InputRequested,
    InputResolved,
    MessageFinished,
    MessageJoined,
    MessageWithdrawn,
    ModelSilent,
    Notice,
    SessionEvent,
    SpeakerStarted,
    TextDelta,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    WorkHandedOff,
)
from gateway.sessions.turn import SILENT
from teams.models import BadAnswer, ContextOverflow, CreateResult
from tests.fakes.scripted_client import ScriptedClient
from tests.fakes.scripted_model import ScriptedModel, says
from tests.fakes.summarising import SUMMARY, summarising
from tests.gateway.scripted import opened, solo, turn


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Answering(ScriptedClient):
    """Each message, then each answer, triggers the next events of the script."""

    def __init__(
        self, *script: Sequence[SessionEvent], outcome: str = "turn", reply: str = ""
    ) -> None:
        super().__init__()
        self.script = list(script)
        self.outcome = outcome
        self.reply = reply

    async def send(self, thread: str, text: str, *, files: Sequence[SentFile] = ()) -> Receipt:
        receipt = await super().send(thread, text)
        await self._next(thread)
        return replace(receipt, outcome=self.outcome, reply=self.reply)  # pyright: ignore[reportArgumentType]

    async def answer(self, request: str, answer: Answer) -> str | None:
        said = await super().answer(request, answer)
        [thread] = self.all
        await self._next(thread)
        return said

    async def _next(self, thread: str) -> None:
        if self.script:
            await self.happen(thread, *self.script.pop(0))


def handed(text: str = "") -> WorkHandedOff:
    return WorkHandedOff(thread="", agent="front", target="user", text=text, to_people=True)


def said(text: str, agent: str = "front") -> MessageFinished:
    return MessageFinished(thread="", agent=agent, message=text, text=text)


def asked(prompt: str = "Which one?", request: str = "r1", **more: Any) -> InputRequested:
    kind = more.pop("kind", "text")
    return InputRequested(
        thread="", request=request, request_kind=kind, agent="front", prompt=prompt, **more
    )


def ended(outcome: Any = "done", reason: str = "") -> TurnFinished:
    return TurnFinished(thread="", outcome=outcome, reason=reason)


class Done:
    """A run that is over."""

    def __init__(self, code: ExitCode, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


async def run(
    client: ScriptedClient,
    task: Task | None = None,
    *,
    typed: Sequence[str] | None = None,
    out: io.StringIO | None = None,
    err: io.StringIO | None = None,
    names: bool = False,
) -> Done:
    """A run; lines that are `typed` come from a terminal."""
    out, err = out or io.StringIO(), err or io.StringIO()
    lines = "".join(f"{line}\n" for line in typed or ())
    stdin = io.StringIO() if typed is None else Terminal(lines)
    client.team_agents = {"front": "", "back": ""} if names else {"front": ""}

    @asynccontextmanager
    async def connect() -> AsyncGenerator[ScriptedClient]:
        yield client

    async with asyncio.timeout(8):
        code = await run_task(task or Task(text="Hi"), connect, stdin=stdin, stdout=out, stderr=err)
    return Done(ExitCode(code), out.getvalue(), err.getvalue())


def questions(done: Done) -> list[str]:
    return [line.partition("asks: ")[2] for line in done.err.splitlines() if "asks: " in line]


async def until(fact: Callable[[], object]) -> None:
    while not fact():  # noqa: ASYNC110 (there is nothing to wait on but the run itself)
        await asyncio.sleep(0)


# --- what it writes ---


@pytest.mark.parametrize("style", ["text", "final", "json"])
async def test_a_team_that_says_nothing_has_failed(tmp_path: Path, style: OutputStyle):
    out, err = io.StringIO(), io.StringIO()
    async with opened(tmp_path, lambda: solo("")) as gateway:

        @asynccontextmanager
        async def connect() -> AsyncGenerator[Client]:
            yield gateway.client

        task, stdin = Task(text="Hi", style=style), io.StringIO()
        code = await run_task(task, connect, stdin=stdin, stdout=out, stderr=err)
    assert code == ExitCode.FAILED
    if style == "json":
        *_, notice, last = map(json.loads, out.getvalue().splitlines())
        assert (notice["text"], last["outcome"], err.getvalue()) == (SILENT, "failed", "")
    else:
        assert (out.getvalue(), err.getvalue()) == ("", f"parley: {SILENT} (Try again: /retry)\n")


async def test_the_answer_is_all_that_standard_output_gets():
    client = Answering(
        [
            SpeakerStarted(thread="", agent="front", model="demo"),
            Notice(thread="", text="by the way"),
            TextDelta(thread="", agent="front", message="Hello", text="Hel"),
            said("Hello"),
            ToolStarted(thread="", agent="front", call="c", tool="clock", arguments="{}"),
            said("Bye", "back"),
            ended(),
        ]
    )
    done = await run(client)
    assert (done.code, done.out, done.err) == (ExitCode.DONE, "Hello\n\nBye\n", "")
    assert client.sent == [("t1", "Hi")]


async def test_who_wants_to_know_more_is_told_which_model_answers_for_another():
    note = "The model 'small' answers for now: 'large' is not available."
    client = Answering([Notice(thread="", text=note), said("Hello"), ended()])
    done = await run(client, Task(text="Hi", verbose=True))
    assert (done.out, done.err) == ("Hello\n", f"parley: {note}\n")


async def test_several_agents_are_named():
    done = await run(Answering([said("Hello"), said("Bye", "back"), ended()]), names=True)
    assert done.out == "front:\nHello\n\nback:\nBye\n"


async def test_json_is_one_event_per_line():
    done = await run(Answering([said("Grüße\x1b[2J"), ended()]), Task(text="Hi", style="json"))
    events = [json.loads(line) for line in done.out.splitlines()]
    kinds = [event["kind"] for event in events]
    assert kinds == ["turn_started", "message_finished", "turn_finished"]
    assert events[1]["text"] == "Grüße\x1b[2J"


async def test_foreign_text_can_not_steer_a_terminal_also_from_a_file():
    hostile = "\x1b]0;title\x07Hello\u202e\x9b2J"
    script = [said(hostile), Notice(thread="", text="\x1b[2Jbad", level="error"), ended("failed")]
    terminal = await run(Answering([*script]), out=Terminal(), err=Terminal())
    assert terminal.out == "Hello\n"
    assert "parley: bad\n" in terminal.err
    assert "\x1b[2J" not in terminal.err
    assert (await run(Answering([*script]))).out == "Hello\n"
    as_json = await run(Answering([*script]), Task(text="Hi", style="json"))
    assert as_json.out.isascii()
    assert hostile in [json.loads(line).get("text") for line in as_json.out.splitlines()]


async def test_progress_is_shown_on_a_terminal_and_goes_away(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    client = Answering(
        [
            SpeakerStarted(thread="", agent="front", model="gpt-4o"),
            ToolStarted(thread="", agent="front", call="c", tool="clock", arguments="{}"),
            Notice(thread="", text="by the way"),
            said("Hello"),
            ended(),
        ]
    )
    err = Terminal()
    done = await run(client, err=err)
    assert done.out == "Hello\n"
    assert done.err == ("\r\x1b[Kfront (gpt-4o) ...\r\x1b[Kfront: clock ...\r\x1b[Kby the way\n")


async def test_a_silent_model_is_told_as_progress(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    silent = ModelSilent(thread="", seconds=30.0)
    script = [silent, replace(silent, over=True), said("Hello"), ended()]
    done = await run(Answering(script), err=Terminal())
    assert done.err == "\r\x1b[KThe model has been silent for 30 s.\r\x1b[K"


async def test_a_simple_terminal_gets_no_progress(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    script = [SpeakerStarted(thread="", agent="front"), said("Hello"), ended()]
    assert (await run(Answering(script), err=Terminal())).err == ""


# --- how it ends ---


@pytest.mark.parametrize(
    ("events", "code", "err"),
    [
        pytest.param([ended("done", "MaxMessage")], ExitCode.DONE, "", id="done"),
        pytest.param(
            [Notice(thread="", text="No answer.", level="error", incident="ab12"), ended("failed")],
            ExitCode.FAILED,
            "parley: No answer. (parley log ab12)\n",
            id="failed-and-said-so",
        ),
        pytest.param(
            [ended("failed", "The model did not answer.")],
            ExitCode.FAILED,
            "parley: The model did not answer.\n",
            id="failed",
        ),
        pytest.param(
            [ended("stopped")], ExitCode.FAILED, "parley: the turn was stopped\n", id="stopped"
        ),
        pytest.param(
            [Notice(thread="", text="careful", level="warning"), ended()],
            ExitCode.DONE,
            "parley: careful\n",
            id="warned",
        ),
    ],
)
async def test_a_turn_that_ended_is_an_exit_code(events, code, err):
    done = await run(Answering(events))
    assert (done.code, done.err) == (code, err)


async def test_a_reason_that_a_notice_gave_is_not_said_again():
    told = Notice(thread="", text="No answer.", level="warning", command="/retry", label="Again")
    done = await run(Answering([told, ended("failed", "No answer.")]))
    assert (done.code, done.err.count("No answer.")) == (ExitCode.FAILED, 1)


async def test_a_command_is_answered_and_a_refusal_is_a_failure():
    command = await run(Answering(outcome="command", reply="The team is not working."))
    assert (command.code, command.err) == (ExitCode.DONE, "The team is not working.\n")
    refusal = await run(Answering(outcome="refused", reply="You may not write here."))
    assert (refusal.code, refusal.err) == (ExitCode.FAILED, "parley: You may not write here.\n")


async def test_another_turn_that_ends_is_not_mine():
    client = Answering(
        [
            said("for somebody else"),
            ended(),
            TurnStarted(thread="", messages=()),
            ended(),
        ],
        outcome="queued",
    )
    thread = client.add_thread("busy")
    await client.happen(thread, TurnStarted(thread=""))
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run(client, Task(text="Hi", session="busy")))
        await until(lambda: client.sent)
        mine = next(e for e in client.all[thread].events if e.kind == "message_queued").message
        await client.happen(
            thread, TurnStarted(thread="", messages=(mine,)), said("for me"), ended("failed", "no")
        )
    assert running.result().code == ExitCode.FAILED


async def test_what_follows_on_the_end_of_the_turn_is_not_shown():
    other = TurnStarted(thread="", messages=(HumanText(inbox=9, author="Bob", text="And mine?"),))
    client = Answering([said("Yes."), ended(), other, said("No."), ended("failed", "no")])
    done = await run(client)
    assert (done.code, done.out, done.err) == (ExitCode.DONE, "Yes.\n", "")


async def test_a_message_that_is_taken_as_an_answer_goes_on_with_that_turn():
    client = Answering(
        [
            MessageWithdrawn(thread="", inbox=1),  # the fake has queued it
            InputResolved(thread="", request="r1", outcome="Rome"),
            TurnStarted(thread="", resumed=True),
            said("To Rome."),
            ended(),
        ],
        outcome="answer",
    )
    thread = client.add_thread("trip")
    await client.happen(thread, TurnStarted(thread=""), asked("Where to?"), ended("waiting"))
    done = await run(client, Task(text="Rome", session="trip"))
    assert (done.code, done.out, done.err) == (ExitCode.DONE, "To Rome.\n", "")


async def test_a_thread_that_is_deleted_meanwhile_is_an_error():
    class Deleted(Answering):
        async def events(self, thread: str, *, after: int = 0):
            yield said("Hel")
            raise NotFound("The thread was deleted.")

    with pytest.raises(GatewayError, match="was deleted"):
        await run(Deleted([]))


async def test_errors_of_the_gateway_are_for_the_caller():
    client = Answering()
    client.fail = GatewayError("The disk is full.")
    with pytest.raises(GatewayError, match="disk is full"):
        await run(client)


async def test_a_gateway_that_ends_is_an_error():
    class Ending(Answering):
        async def events(self, thread: str, *, after: int = 0):
            yield said("Hel")
            raise GatewayClosed("The gateway has ended.")

    with pytest.raises(GatewayClosed, match="has ended"):
        await run(Ending([]))


async def test_a_run_whose_reader_has_gone_stops_its_turn():
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    client = Answering([said("Hello")])
    with pytest.raises(BrokenPipeError):
        await run(client, out=Broken())
    assert client.stopped == ["t1"]


@pytest.mark.parametrize("style", ["text", "final", "json"])
async def test_an_answer_that_can_not_be_written_is_an_error_in_words(style: OutputStyle):
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    client = Answering([said("Hello"), ended()])
    with pytest.raises(GatewayError, match="can't be written: No space left on device"):
        await run(client, Task(text="Hi", style=style), out=Full())
    assert client.stopped == ["t1"]


async def test_a_run_without_a_standard_input_has_nobody_to_ask(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    client = Answering([asked(), ended("waiting")])
    client.team_agents = {"front": ""}

    @asynccontextmanager
    async def connect() -> AsyncGenerator[ScriptedClient]:
        yield client

    out = io.StringIO()
    assert await run_task(Task(text="Hi"), connect, stdout=out, stderr=out) == ExitCode.WAITING


async def test_a_run_that_is_cancelled_stops_its_turn():
    client = Answering([said("Hello")])
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run(client, out=(out := io.StringIO())))
        await until(lambda: out.getvalue() == "Hello\n")
        running.cancel()
    assert client.stopped == ["t1"]


# --- sessions ---


async def test_a_session_is_found_by_title_or_id_or_begun():
    client = Answering([ended()], [ended()], [ended()], [ended()])
    other = client.add_thread("trip to Rome")
    trip = client.add_thread("trip")
    await run(client, Task(text="a", session="trip"))
    await run(client, Task(text="b", session=other))
    await run(client, Task(text="c", session="new one"))
    await run(client, Task(text="d"))
    assert client.sent == [(trip, "a"), (other, "b"), ("t3", "c"), ("t4", "d")]
    assert client.all["t3"].info.title == "new one"


async def test_only_what_is_new_in_a_session_is_shown():
    client = Answering([said("new"), ended()])
    thread = client.add_thread("trip")
    await client.happen(thread, TurnStarted(thread=""), said("old"), ended())
    assert (await run(client, Task(text="Hi", session="trip"))).out == "new\n"


async def test_a_run_whose_message_joins_a_turn_ends_with_that_turn():
    joined = MessageJoined(thread="", message=HumanText(inbox=1, author="you", text="Hi"))
    client = Answering([joined, said("Both."), ended()], outcome="queued")
    thread = client.add_thread("trip")
    await client.happen(thread, TurnStarted(thread=""))
    done = await run(client, Task(text="Hi", session="trip"))
    assert (done.code, done.out) == (ExitCode.DONE, "Both.\n")


# --- questions ---


async def test_a_question_is_asked_and_the_run_goes_on():
    client = Answering(
        [said("Hm."), asked(), ended("waiting")],
        [TurnStarted(thread="", resumed=True), said("So that one."), ended()],
    )
    done = await run(client, typed=["the red one"])
    assert (done.code, done.out) == (ExitCode.DONE, "Hm.\n\nSo that one.\n")
    assert questions(done) == ["Which one?"]
    assert client.answers == [("r1", Answer(kind="text", text="the red one"))]


async def test_a_question_in_the_midst_of_a_call_is_asked_before_the_turn_ends():
    client = Answering(
        [asked("Which size?", awaited=True)],
        [asked("Allow it?", "r2", kind="approval", tool="rm", awaited=True)],
        [said("Ordered."), ended()],
    )
    done = await run(client, typed=["M", "y"])
    assert (done.code, done.out) == (ExitCode.DONE, "Ordered.\n")
    assert questions(done) == ["Which size?"]
    assert "front asks to run rm\n  Allow it?\n" in done.err
    assert [answer.kind for _, answer in client.answers] == ["text", "approve"]


@pytest.mark.parametrize("typed", [None, []], ids=["nobody-there", "nobody-willing"])
async def test_a_call_that_waits_for_nobody_is_told_so_and_the_run_goes_on(typed):
    client = Answering(
        [asked("Which size?", awaited=True)],
        [asked("Allow it?", "r2", kind="approval", tool="rm", awaited=True)],
        [said("Nothing was ordered."), ended()],
    )
    done = await run(client, typed=typed)
    assert (done.code, done.out) == (ExitCode.DONE, "Nothing was ordered.\n")
    assert [answer for _, answer in client.answers] == [
        Answer(kind="text", text="Cancel"),
        Answer(kind="deny"),
    ]
    lines = [line for line in done.err.splitlines() if not line.startswith(("Type", "> "))]
    assert lines[:2] == [
        "front asks: Which size?",
        "parley: The call needs an answer now, and there is none.",
    ]


async def test_a_hand_off_to_people_is_asked_and_the_run_goes_on():
    client = Answering(
        [said("Which order?"), handed(), ended()], [said("It is on its way."), ended()]
    )
    done = await run(client, typed=["Order 7"])
    assert (done.code, done.out) == (ExitCode.DONE, "Which order?\n\nIt is on its way.\n")
    assert questions(done) == ["over to you"]
    assert [text for _, text in client.sent] == ["Hi", "Order 7"]


async def test_a_hand_off_that_another_agent_took_up_is_none_to_people():
    taken = SpeakerStarted(thread="", agent="clerk")
    client = Answering([handed(), taken, said("Done.", "clerk"), ended()])
    done = await run(client, typed=[])
    assert (done.code, done.err) == (ExitCode.DONE, "")


async def test_a_hand_off_to_people_with_nobody_there_has_the_exit_code_of_a_question():
    done = await run(Answering([handed("Over to you."), ended()]))
    assert done.code == ExitCode.WAITING
    assert done.err.startswith("front asks: Over to you.\nparley: The team waits for your answer.")


async def test_several_questions_are_each_asked_once():
    client = Answering(
        [asked("One?", "r1"), asked("Two?", "r2"), ended("waiting")],
        [TurnStarted(thread="", resumed=True), ended("waiting")],
        [TurnStarted(thread="", resumed=True), ended()],
    )
    done = await run(client, typed=["yes", "no"])
    assert done.code == ExitCode.DONE
    assert questions(done) == ["One?", "Two?"]


@pytest.mark.parametrize("typed", [None, []], ids=["nobody-there", "nobody-willing"])
async def test_without_an_answer_the_question_is_written_and_has_its_own_exit_code(typed):
    done = await run(Answering([said("Hm."), asked(), ended("waiting")]), typed=typed)
    assert (done.code, done.out) == (ExitCode.WAITING, "Hm.\n")
    question, *_, advice = done.err.splitlines()
    assert len(done.err.splitlines()) == (2 if typed is None else 4)
    assert question == "front asks: Which one?"
    assert advice.startswith("parley: The team waits for your answer. Without --session")


async def test_a_tool_that_is_allowed_is_approved_and_another_one_is_asked_about():
    client = Answering(
        [asked("Read?", kind="approval", tool="read"), ended("waiting")],
        [asked("Wipe?", "r2", kind="approval", tool="wipe"), ended("waiting")],
        [ended()],
    )
    done = await run(client, Task(text="Hi", allow=frozenset(["read"])), typed=["n too risky"])
    assert [answer.kind for _, answer in client.answers] == ["approve", "deny"]
    assert "Read?" not in done.err
    assert "front asks to run wipe" in done.err


async def test_an_answer_that_comes_too_late_is_told():
    client = Answering(
        [asked(), ended("waiting"), InputResolved(thread="", request="r1", outcome="x"), ended()]
    )
    client.refuse_answer = "That was answered already."
    done = await run(client, typed=["x"])
    assert done.code == ExitCode.DONE
    assert done.err.endswith("> parley: That was answered already.\n")


async def test_a_session_that_waits_asks_before_it_takes_the_message():
    client = Answering([], [ended(), TurnStarted(thread=""), ended()], outcome="queued")
    thread = client.add_thread("trip")
    approval = asked("May I?", kind="approval", tool="rm", arguments='{"path": "x"}')
    await client.happen(thread, TurnStarted(thread=""), approval, ended("waiting"))
    nobody = await run(client, Task(text="Hi", session="trip"))
    assert nobody.code == ExitCode.WAITING
    assert "front asks to run rm\n  May I?\n  path: x\n" in nobody.err


# --- whose thread it is ---


async def test_a_session_s_name_is_looked_up_among_the_config_s_own_threads():
    client = Answering([said("Hello."), ended()])
    client.add_thread("trip", id="theirs", foreign=True, config="/b/config.toml")
    done = await run(client, Task(text="Hi", session="trip"))
    assert done.code == ExitCode.DONE
    [(thread, _)] = client.sent
    assert thread != "theirs"
    assert client.all[thread].info.title == "trip"


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ("/b/config.toml", "begun with '/b/config.toml'"),
        ("built-in", "begun with the built-in config"),
        ("", "not known with which config"),
    ],
)
async def test_the_id_of_another_config_s_thread_is_a_mistake(config: str, named: str):
    client = Answering()
    client.add_thread("trip", id="theirs", foreign=True, config=config)
    with pytest.raises(GatewayError, match=named):
        await run(client, Task(text="Hi", session="theirs"))
    assert client.sent == []


# --- commands that begin a turn ---


def cut(text: str) -> CreateResult:
    return says(text).model_copy(update={"finish_reason": "length"})


LONG = "word " * 9_000
BEGINNING = {
    "/retry": ("go", BadAnswer("No."), ("Yes.",)),
    "/continue": ("go", cut("Once upon"), (" a time.",)),
    "/compact names": ("go", "Nice.", (SUMMARY,)),
    "/aside attach": (LONG, ContextOverflow("No."), ("Brief.", "Read.")),
    "/aside summarise": (LONG, ContextOverflow("No."), ("Brief.", "Brief.", "Read.")),
}
SHOWN = {"/compact names": ""}


@pytest.mark.parametrize(
    ("command", "message", "first", "then"),
    [(command, *rest) for command, rest in BEGINNING.items()],
    ids=BEGINNING,
)
async def test_a_run_waits_for_the_turn_that_a_command_begins(
    tmp_path, command, message, first, then
):
    held = asyncio.Event()
    model = ScriptedModel("Hello.", first, [held, then[0]], *then[1:])
    out, err = io.StringIO(), io.StringIO()
    async with opened(tmp_path, lambda: summarising(model)) as gateway:
        thread = (await gateway.client.create_thread(title="tale")).id
        await turn(gateway, thread, "Hi")
        await turn(gateway, thread, message)

        @asynccontextmanager
        async def connect():
            yield gateway.client

        task = Task(text=command, session="tale")
        async with asyncio.timeout(8), asyncio.TaskGroup() as group:
            running = group.create_task(
                run_task(task, connect, stdin=io.StringIO(), stdout=out, stderr=err)
            )
            await model.asked(3)
            held.set()
    assert running.result() == ExitCode.DONE
    assert out.getvalue().strip() == SHOWN.get(command, then[-1].strip())


@pytest.mark.parametrize("command", ["/status", "/retry", "/stop", "/aside drop", "/compact"])
async def test_a_run_waits_for_no_turn_of_others(tmp_path, command):
    model = ScriptedModel([asyncio.Event(), "Hello."])
    out, err = io.StringIO(), io.StringIO()
    async with opened(tmp_path, lambda: summarising(model)) as gateway:
        thread = (await gateway.client.create_thread(title="tale")).id
        await gateway.client.send(thread, "Hi")
        await model.asked()

        @asynccontextmanager
        async def connect():
            yield gateway.client

        async with asyncio.timeout(8):
            code = await run_task(
                Task(text=command, session="tale"),
                connect,
                stdin=io.StringIO(),
                stdout=out,
                stderr=err,
            )
    assert (code, out.getvalue()) == (ExitCode.DONE, "")


@pytest.mark.parametrize("command", ["/status", "/retry", "/stop", "/continue", "/aside drop"])
async def test_a_command_that_begins_nothing_ends_the_run(tmp_path, command):
    model = ScriptedModel("Hello.")
    err = io.StringIO()
    async with opened(tmp_path, lambda: summarising(model)) as gateway:
        thread = (await gateway.client.create_thread(title="tale")).id
        await turn(gateway, thread, "Hi")

        @asynccontextmanager
        async def connect():
            yield gateway.client

        async with asyncio.timeout(8):
            code = await run_task(
                Task(text=command, session="tale"), connect, stdin=io.StringIO(), stderr=err
            )
    assert code == ExitCode.DONE
    assert err.getvalue().count("\n") >= 1
