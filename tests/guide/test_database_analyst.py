"""An analyst who may only read a database."""

import json
import sqlite3
from pathlib import Path

import pytest
from pydantic import BaseModel

from teams.agents import AssistantAgent
from teams.messages import StructuredMessage
from tests.fakes.openai_script import Call, Reply
from tests.guide.harness import calls_tools, conversations, watch


class Finding(BaseModel):
    """The answer to a question about the data."""

    answer: str
    evidence: list[str]


class Orders:
    """The tools: they open the file for reading alone."""

    def __init__(self, file: Path) -> None:
        self._address = f"file:{file}?mode=ro"

    def tables(self) -> list[str]:
        """The tables, as SQL."""
        return [sql for (sql,) in self._rows("SELECT sql FROM sqlite_schema")]

    def query(self, sql: str) -> str:
        """Rows of one SELECT, as JSON."""
        return json.dumps(self._rows(sql))

    def _rows(self, sql: str) -> list[tuple]:
        connection = sqlite3.connect(self._address, uri=True)
        try:
            return connection.execute(sql).fetchmany(50)
        finally:
            connection.close()


@pytest.fixture
def orders(tmp_path: Path) -> Orders:
    file = tmp_path / "orders.db"
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE orders (customer TEXT, lamps INTEGER)")
    connection.executemany("INSERT INTO orders VALUES (?, ?)", [("Ann", 3), ("Ben", 5)])
    connection.commit()
    connection.close()
    return Orders(file)


async def test_wrong_queries_are_mended_and_nothing_is_changed(
    openai_server, model, orders: Orders
):
    openai_server.script(
        Reply(calls=[Call(name="tables")]),
        Reply(calls=[Call(name="query", arguments={"sql": "SELECT name FROM orders"})]),
        Reply(
            calls=[
                Call(name="query", arguments={"sql": "DELETE FROM orders"}, id="a"),
                Call(
                    name="query",
                    arguments={"sql": "SELECT customer, max(lamps) FROM orders"},
                    id="b",
                ),
            ]
        ),
        Reply(text='{"answer": "Ben", "evidence": ["5 lamps"]}'),
    )
    analyst = AssistantAgent(
        "analyst",
        model,
        tools=[orders.tables, orders.query],
        max_tool_iterations=5,
        output_content_type=Finding,
    )

    run = await watch(analyst.run_stream(task="Who ordered most?"))

    tools = calls_tools("analyst", "-")[:2]
    assert run.trace == [
        ("TextMessage", "user"),
        *tools * 3,
        ("StructuredMessage[Finding]", "analyst"),
    ]
    [*_, answer] = run.result.messages
    assert isinstance(answer, StructuredMessage)
    assert answer.content == Finding(answer="Ben", evidence=["5 lamps"])
    results = [line for line in conversations(openai_server)[-1] if line.startswith("tool: ")]
    assert "CREATE TABLE orders (customer TEXT, lamps INTEGER)" in results[0]
    assert "no such column: name" in results[1]
    assert "readonly database" in results[2]
    assert results[3] == 'tool: [["Ben", 5]]'
    assert json.loads(orders.query("SELECT count(*) FROM orders")) == [[2]]
