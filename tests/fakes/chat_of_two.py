"""A person and a writer who chat, as a team of config.toml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gateway.app.load import load_config
from gateway.config.conversable import ConversableTeam
from gateway.factory.conversable import ConversableFactory
from gateway.factory.knowledge import KnowledgeBases
from gateway.factory.model_clients import ModelClients
from gateway.factory.parts import Means
from gateway.factory.shared_parts import SharedParts
from teams.models.replay import ReplayChatCompletionClient
from tests.gateway.scripted import CAN_CALL

CONFIG = """
[models.m]
provider = "tests.fakes.chat_of_two:model"
options = { answers = ["A long poem.", "A poem."] }
[teams.poems]
type = "conversable"
recipient = "writer"
agents.writer = {}
"""


def model(answers: list[str]) -> ReplayChatCompletionClient:
    return ReplayChatCompletionClient(answers, model_info=CAN_CALL)


def chats_of_two(folder: Path) -> Any:
    """Makes the team, with one model for all threads."""
    (folder / "config.toml").write_text(CONFIG)
    loaded = load_config(folder / "config.toml")
    config = loaded.config.teams["poems"]
    assert isinstance(config, ConversableTeam)
    means = Means(
        models=ModelClients(loaded.config, loaded.imports),
        imports=loaded.imports,
        folder=None,
        work_mb=1,
        knowledge=KnowledgeBases(loaded.config, None),
        shared=SharedParts(),
    )
    return lambda: ConversableFactory(means).chat("poems", config)
