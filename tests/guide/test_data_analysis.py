"""Data analysis with code: written, run, mended, and the file is there."""

from pathlib import Path

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent, CodeExecutorAgent
from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.conditions import MaxMessageTermination, TextMentionTermination
from tests.fakes.openai_script import Reply
from tests.guide.harness import conversations, watch

PRICES = "day,price\n1,10\n2,14\n3,12\n"
BROKEN = (
    "```python\nimport csv\nprint(max(row['price'] for row in csv.DictReader(open('prices')))\n```"
)
MENDED = """The bracket was missing, and the name:

```python
import csv
from pathlib import Path

with open("prices.csv") as file:
    best = max(csv.DictReader(file), key=lambda row: int(row["price"]))
Path("report.md").write_text(f"# Prices\\n\\nBest on day {best['day']}.\\n")
print("Best on day", best["day"])
```
"""


def analysts(model, folder: Path) -> RoundRobinGroupChat:
    executor = LocalCommandLineCodeExecutor(work_dir=folder, timeout=20)
    return RoundRobinGroupChat(
        [
            AssistantAgent("analyst", model, system_message="You write Python."),
            CodeExecutorAgent("computer", executor, sources=["analyst"]),
        ],
        termination_condition=TextMentionTermination("DONE", sources=["analyst"])
        | MaxMessageTermination(9),
    )


async def test_code_is_mended_until_the_report_is_written(openai_server, model, tmp_path: Path):
    (tmp_path / "prices.csv").write_text(PRICES)
    openai_server.script(Reply(text=BROKEN), Reply(text=MENDED), Reply(text="Day 2. DONE"))
    team = analysts(model, tmp_path)

    run = await watch(team.run_stream(task="When was the price best? Write report.md."))

    assert [source for _, source in run.trace] == [
        "user",
        *("analyst", "computer") * 2,
        "analyst",
    ]
    assert run.stop_reason == "Text 'DONE' mentioned"
    assert (tmp_path / "report.md").read_text() == "# Prices\n\nBest on day 2.\n"
    _, first, second = conversations(openai_server)
    assert "SyntaxError" in first[-1]
    assert second[-1].endswith("Best on day 2\n")
