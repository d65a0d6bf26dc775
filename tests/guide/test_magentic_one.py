"""The page on Magentic-One: an orchestrator plans, keeps a ledger, replans."""

import json

from teams import MagenticOneGroupChat
from teams.agents import AssistantAgent
from tests.fakes.openai_script import Reply
from tests.guide.harness import Trace, conversations, goes_on_alike, watch

ORCHESTRATOR = "MagenticOneOrchestrator"
TASK = "Another proof that there is no largest prime."


def mathematicians(model, **options) -> MagenticOneGroupChat:
    prover = AssistantAgent(
        "prover", model, description="Proves.", system_message="You prove things."
    )
    checker = AssistantAgent(
        "checker", model, description="Checks proofs.", system_message="You check proofs."
    )
    return MagenticOneGroupChat([prover, checker], model_client=model, **options)


def say(*texts: str) -> list[Reply]:
    return [Reply(text=text) for text in texts]


def ledger(next_speaker: str, instruction: str = "", *, done=False, progress=True) -> Reply:
    def answer(value: object) -> dict[str, object]:
        return {"reason": "The proof holds." if done else "Not yet.", "answer": value}

    judged = {
        "is_request_satisfied": answer(done),
        "is_in_loop": answer(False),
        "is_progress_being_made": answer(progress),
        "next_speaker": answer(next_speaker),
        "instruction_or_question": answer(instruction),
    }
    return Reply(text=json.dumps(judged))


def spoken(*names: str) -> Trace:
    return [("TextMessage", name) for name in names]


async def test_the_orchestrator_plans_instructs_and_answers(openai_server, model):
    openai_server.script(
        *say("Primes are infinite in number.", "prover proves, checker checks."),
        ledger("prover", "Prove it without Euclid."),
        *say("By Fermat numbers."),
        ledger("checker", "Check it."),
        *say("It is right."),
        ledger("prover", done=True),
        *say("There is none: Fermat numbers have no factors in common."),
    )
    team = mathematicians(model)

    run = await watch(team.run_stream(task=TASK))

    assert run.trace == spoken(
        "user", ORCHESTRATOR, ORCHESTRATOR, "prover", ORCHESTRATOR, "checker", ORCHESTRATOR
    )
    assert run.texts[2:] == [
        "Prove it without Euclid.",
        "By Fermat numbers.",
        "Check it.",
        "It is right.",
        "There is none: Fermat numbers have no factors in common.",
    ]
    for known in (TASK, "Primes are infinite in number.", "prover proves", "prover: Proves."):
        assert known in run.texts[1]
    assert run.stop_reason == "The proof holds."

    facts, plan, first, prover, second, checker, third, answer = openai_server.requests
    for request in (facts, plan, first, second, third, answer):
        assert TASK in request.last["content"]
        assert request.last["role"] == "user"
    assert [request.roles for request in (facts, plan)] == [["user", "user"]] * 2
    assert first.roles == ["user", "assistant", "user"]
    told = ["assistant", "user"]  # an instruction and what came of it
    assert third.roles == ["user", "assistant", *told, *told, "user"]
    for request in (first, second, third):
        assert request.body["response_format"]["json_schema"]["name"] == "ProgressLedger"
    for request in (facts, plan, prover, checker, answer):
        assert "response_format" not in request.body
    said = conversations(openai_server)
    assert said[3] == [
        "system: You prove things.",
        f"user[user]: {TASK}",
        f"user[{ORCHESTRATOR}]: {run.texts[1]}",
        f"user[{ORCHESTRATOR}]: Prove it without Euclid.",
    ]
    assert said[5][-2:] == ["user[prover]: By Fermat numbers.", f"user[{ORCHESTRATOR}]: Check it."]

    again = await goes_on_alike(
        team,
        mathematicians,
        openai_server,
        *say("One proof is known.", "prover finds another one."),
        ledger("prover", "Find a third one."),
        *say("By Mersenne numbers."),
        ledger("prover", done=True),
        *say("Take Mersenne numbers."),
        task="And a third one?",
    )
    assert again.trace == spoken("user", ORCHESTRATOR, ORCHESTRATOR, "prover", ORCHESTRATOR)
    assert again.answer == "Take Mersenne numbers."


async def test_without_progress_it_plans_anew(openai_server, model):
    openai_server.script(
        *say("Facts.", "Plan."),
        ledger("prover", "Prove it.", progress=False),
        *say("Better facts.", "Better plan."),
        ledger("prover", "Use Fermat numbers."),
        *say("By Fermat numbers."),
        ledger("prover", done=True),
        *say("There is none."),
    )
    run = await watch(mathematicians(model, max_stalls=1).run_stream(task=TASK))
    assert run.trace == spoken(
        "user", ORCHESTRATOR, ORCHESTRATOR, ORCHESTRATOR, "prover", ORCHESTRATOR
    )
    assert "Better plan." in run.texts[2]
    assert conversations(openai_server)[6] == [
        "system: You prove things.",
        f"user[{ORCHESTRATOR}]: {run.texts[2]}",
        f"user[{ORCHESTRATOR}]: Use Fermat numbers.",
    ]


async def test_after_the_last_round_it_answers_with_what_there_is(openai_server, model):
    openai_server.script(
        *say("Facts.", "Plan."),
        ledger("prover", "Prove it."),
        *say("I can't."),
        *say("It could not be proved."),
    )
    run = await watch(mathematicians(model, max_turns=1).run_stream(task=TASK))
    assert run.answer == "It could not be proved."
    assert run.stop_reason == "Max rounds reached."
