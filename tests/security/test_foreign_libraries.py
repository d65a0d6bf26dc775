"""Law: a library that gets foreign text takes it as text.

docs/security.md has a table of the libraries; each of its rows has a probe here.
"""

from __future__ import annotations

import ast
import re
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from libcst import parse_module
from openai.types.chat import ChatCompletion
from prometheus_client import CollectorRegistry, Counter, generate_latest
from textual.content import Content

from gateway.base.patterns import matches_whole
from gateway.migrate.rewrite import rewrite
from gateway.render.markdown import ANY, markdown
from teams.conversable._usage import listed_price
from teams.memory.canvas import TextCanvas
from teams.models._tokens import text_counter
from teams.utils import schema_to_pydantic_model
from tests.fakes.hostile_texts import HOSTILE, RUN

ROOT = Path(__file__).resolve().parents[2]


def pydantic(text: str) -> None:
    point = {"$ref": f"#/$defs/{text.replace('/', '_')}"}
    definitions = {point["$ref"][8:]: {"type": "object", "properties": {"y": point}}}
    schema = {"type": "object", "title": text, "properties": {"x": point}, "$defs": definitions}
    model = schema_to_pydantic_model(schema, text)
    assert model.model_validate({"x": {"y": None}})
    assert model.model_json_schema()["title"] == text


def patterns(text: str) -> None:
    assert matches_whole(r"(?s:.*)", text)
    with suppress(ValueError):  # it is no pattern
        matches_whole(text, text)


def markdown_it(text: str) -> None:
    assert re.sub(r"\W", "", markdown(f"`{text}`", ANY)) == re.sub(r"\W", "", text)


def terminal(text: str) -> None:
    assert Content(text).plain == text


def programs(text: str) -> None:
    program = f"x = {text!r}\n{RUN}\n"
    assert parse_module(rewrite(program).code).code == program


def answers(text: str) -> None:
    answer = ChatCompletion.construct(id=text, choices=[{"message": {text: text}}], model=text)
    assert answer.id == answer.model == text


def rows(text: str) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE notes (text)")
    connection.execute("INSERT INTO notes VALUES (:text)", {"text": text})
    assert connection.execute("SELECT text FROM notes").fetchall() == [(text,)]
    connection.close()


def figures(text: str) -> None:
    registry = CollectorRegistry()
    Counter("seen", "Seen.", ["by"], registry=registry).labels(text).inc()
    lines = generate_latest(registry).decode().splitlines()
    assert len([line for line in lines if line.startswith("seen_total{")]) == 1
    assert not [line for line in lines if line.startswith("forged")]


def tokens(text: str) -> None:
    assert text_counter("cl100k_base")(text) > 0


def prices(text: str) -> None:
    assert listed_price(text, text, warns=False).cost(1, 1) == 0


def patches(text: str) -> None:
    canvas = TextCanvas()
    canvas.add_or_update_file(text, "a\n")
    canvas.apply_patch(text, "--- PWNED\n+++ PWNED\n@@ -1 +1 @@\n-a\n+b\n")
    assert canvas.get_latest_content(text) == "b\n"


NOTHING_ELSE = "test_what_reads_a_document_reaches_nothing_else"
PROBES: dict[str, Callable[[str], None] | str] = {
    "pydantic": pydantic,
    "re2": patterns,
    "markdown_it": markdown_it,
    "textual": terminal,
    "PIL": "teams/_base/test_image.py::test_an_image_runs_no_program_and_damage_is_a_value_error",
    "pypdf": f"gateway/content/test_documents.py::{NOTHING_ELSE}",
    "libcst": programs,
    "mcp": "security/test_text_is_no_code.py::test_a_schema_runs_nothing",
    "langchain_core": "security/test_text_is_no_code.py::test_a_schema_runs_nothing",
    "openai": answers,
    "docker": "teams/code_executors/test_jupyter.py::test_what_code_prints_stays_text",
    "playwright": "browser/test_agent.py::"
    "test_hostile_text_stays_between_marks_that_it_can_not_know",
    "aiosqlite": rows,
    "diskcache": "security/test_component_files.py::"
    "test_a_power_is_refused_with_the_line_that_allows_it",
    "chromadb": "teams/memory/test_chromadb.py::test_hostile_texts_stay_texts",
    "redis": "teams/memory/test_redis.py::test_hostile_texts_stay_texts",
    "mem0": "security/test_component_files.py::test_a_memory_that_no_allowance_can_name_is_refused",
    "prometheus_client": figures,
    "tiktoken": tokens,
    "genai_prices": prices,
    "unidiff": patches,
    "av": "extras/video-surfer/test_video_surfer.py::test_a_playlist_opens_no_other_file",
    "graphrag": "extras/graphrag/test_search.py::test_a_global_search_maps_and_reduces",
    "cryptography": "gateway/store/test_tokens.py::"
    "test_a_token_can_not_be_put_in_the_place_of_another",
}
"""Probes by the first library of each row: a function here, or a test elsewhere."""

NO_FOREIGN_TEXT = {"click", "typing_extensions"}


@cache
def table() -> list[list[str]]:
    """The libraries of each row in docs/security.md."""
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    section = page.partition("## Libraries\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return [re.findall(r"`(\w+)`", line.split("|")[1]) for line in lines]


def imported() -> Iterator[str]:
    """Packages of others that our code imports."""
    named = re.compile(
        r"^\s*(?:import|from) (\w+)|(?:import_module|__import__)[(,] ?\"(\w+)", re.MULTILINE
    )
    for package in ("teams", "gateway", "adapters"):
        for file in (ROOT / package).rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            for found in named.finditer(re.sub(r'"""[\s\S]*?"""', "", text)):
                yield found[1] or found[2]


def test_each_library_that_we_use_has_a_row():
    listed = {name for row in table() for name in row}
    ours = {"adapters", "gateway", "teams"} | sys.stdlib_module_names
    assert {*imported()} - ours - NO_FOREIGN_TEXT == listed


def test_each_row_has_a_probe():
    assert [row[0] for row in table()] == list(PROBES)
    for probe in PROBES.values():
        if isinstance(probe, str):
            file, _, name = probe.partition("::")
            tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
            assert name in {getattr(each, "name", "") for each in ast.walk(tree)}, probe


@pytest.mark.parametrize("library", [name for name, probe in PROBES.items() if callable(probe)])
def test_a_library_takes_text_as_text(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    probe = PROBES[library]
    assert callable(probe)
    for text in HOSTILE:
        probe(text)
    assert not any(tmp_path.iterdir())
