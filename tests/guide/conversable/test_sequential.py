"""A newcomer is asked, informed and greeted in three chats."""

from __future__ import annotations

from typing import Any

from teams.conversable import ConversableAgent, initiate_chats
from tests.fakes.openai_script import Reply
from tests.fakes.openai_server import FakeOpenAI
from tests.teams.conversable.pairs import contents, saying

FACTS = 'Say the facts as JSON: {"name": "", "hobby": ""}'


def clerk(name: str, prompt: str, llm_config: dict[str, Any]) -> ConversableAgent:
    return ConversableAgent(name, prompt, llm_config=llm_config, human_input_mode="NEVER")


def test_each_chat_knows_what_was_found_before(server: FakeOpenAI, llm_config: dict[str, Any]):
    server.script(
        Reply(text='{"name": "Kim", "hobby": "chess"}'),
        Reply(text="There is a chess club on Monday."),
    )
    reception = clerk("reception", "You ask newcomers who they are.", llm_config)
    guide = clerk("guide", "You know the town.", llm_config)
    newcomer = saying("newcomer", "I am Kim and play chess.")
    reader = saying("reader", "Thanks!")
    results = initiate_chats(
        [
            {
                "sender": reception,
                "recipient": newcomer,
                "message": "Who are you?",
                "summary_method": "reflection_with_llm",
                "summary_args": {"summary_prompt": FACTS},
                "max_turns": 1,
                "silent": True,
            },
            {
                "sender": reader,
                "recipient": guide,
                "message": "What is there for this person?",
                "max_turns": 1,
                "silent": True,
            },
        ]
    )
    assert [result.summary for result in results] == [
        '{"name": "Kim", "hobby": "chess"}',
        "There is a chess club on Monday.",
    ]
    assert [
        [(each["role"], each["content"]) for each in request.messages]
        for request in server.requests
    ] == [
        [
            ("user", "Who are you?"),
            ("assistant", "I am Kim and play chess."),
            ("system", FACTS),
        ],
        [
            ("system", "You know the town."),
            (
                "user",
                'What is there for this person?\nContext: \n{"name": "Kim", "hobby": "chess"}',
            ),
        ],
    ]
    assert contents(results[1].chat_history)[0].endswith('"chess"}')
