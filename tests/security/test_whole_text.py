"""Law: text is made whole where it enters; entrances have rows."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from teams.memory import MemoryContent
from teams.utils import extract_json_from_str

ROOT = Path(__file__).resolve().parents[2]
READERS = {
    "json.loads",
    "json.load",
    "ast.literal_eval",
    "os.fsdecode",
    "pickle.loads",
    "json.JSONDecoder",
}
"""Calls that may give halves of characters; pydantic's and TOML's readers refuse them."""
HANDLERS = ("surrogate", "unicode_escape", "raw_unicode_escape")
MENTIONED = re.compile(
    r"json\.loads?\(|JSONDecoder\(|raw_decode\(|literal_eval|fsdecode|surrogate|unicode_escape"
)

WHOLE = "made whole right there"
EDGE = "answers of models, which teams/models/_edge.py makes whole"
OWN = "what Parley itself has written, from whole texts"
FILE = "the operator's file, read by a command or for the config"
INTAKE = "events of a platform: gateway/inbound/intake.py makes whole what is accepted"
SHAPE = "only its shape is asked for, or it is shown through `visible`"
FAKE = "a simulator, or checks for tests"

ROWS = {
    "teams/_base/json_text.py": WHOLE,
    "teams/_base/tool_call.py": WHOLE,
    "teams/_base/whole_text.py": WHOLE,
    "teams/_snapshot/part.py": OWN,
    "teams/code_executors/_jupyter_server.py": "messages, which teams/code_executors/_kernel.py "
    "makes whole; of answers ids alone are read",
    "teams/conversable/_group_manager.py": OWN,
    "teams/conversable/_model_config.py": FILE,
    "teams/conversable/_saving.py": OWN,
    "teams/conversable/_tool_values.py": WHOLE,
    "teams/experimental/task_centric_memory/_recorder.py": FILE,
    "teams/models/_endpoint.py": EDGE,
    "teams/models/_exchange.py": EDGE,
    "teams/models/_past_calls.py": WHOLE,
    "teams/models/_structured.py": EDGE,
    "teams/memory/redis/__init__.py": "teams/memory/_base.py makes MemoryContent whole",
    "teams/testing/_answers.py": FAKE,
    "gateway/access/grants.py": "arguments of a call, compared with folders",
    "gateway/app/import_teams.py": FILE,
    "gateway/app/log_search.py": OWN,
    "gateway/app/replay.py": OWN,
    "gateway/app/trust.py": OWN,
    "gateway/base/patterns.py": "bytes for a pattern alone",
    "gateway/base/redaction.py": "bytes of a secret alone",
    "gateway/control/socket_client.py": OWN,
    "gateway/conversation.py": OWN,
    "gateway/delivery/items.py": "bytes for a digest alone",
    "gateway/demo/model.py": EDGE,
    "gateway/factory/component_files.py": FILE,
    "gateway/migrate/notebooks.py": FILE,
    "gateway/migrate/stubs.py": SHAPE,
    "gateway/migrate/tree.py": FILE,
    "gateway/references/check.py": SHAPE,
    "gateway/render/arguments.py": SHAPE,
    "gateway/sessions/signals.py": OWN,
    "gateway/store/copying.py": OWN,
    "gateway/transcript.py": OWN,
    "gateway/store/postgres/jobs.py": OWN,
    "gateway/store/work/note.py": OWN,
    "gateway/store/product.py": OWN,
    "gateway/store/tokens.py": OWN,
    "gateway/store/units/aside.py": OWN,
    "gateway/store/units/damage.py": SHAPE,
    "gateway/store/units/files.py": OWN,
    "gateway/store/units/nodes.py": OWN,
    "gateway/store/units/rows.py": OWN,
    "gateway/store/units/search_index.py": OWN,
    "gateway/store/units/threads.py": OWN,
    "gateway/store/value_rows.py": OWN,
    "adapters/terminal/paths.py": "names of files, of which printable ones alone are offered",
    "adapters/discord/connection/event_queue.py": INTAKE,
    "adapters/discord/connection/rest.py": INTAKE,
    "adapters/discord/connection/shard_state.py": OWN,
    "adapters/discord/inbound/files.py": OWN,
    "adapters/discord/simulator": FAKE,
    "adapters/slack/connection/http_mode.py": INTAKE,
    "adapters/slack/connection/installs.py": OWN,
    "adapters/slack/connection/socket_mode.py": INTAKE,
    "adapters/slack/inbound/files.py": OWN,
    "adapters/slack/outbound/text.py": "counts units of UTF-16",
    "adapters/slack/simulator": FAKE,
    "adapters/terminal/history.py": OWN,
    "adapters/terminal/web/tabs.py": "a page's keys, which go to its chat as bytes of whole text",
}


def reads(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    given = [*call.args, *(word.value for word in call.keywords)]
    texts = [each.value for each in given if isinstance(each, ast.Constant)]
    handled = any(isinstance(each, str) and each.startswith(HANDLERS) for each in texts)
    return name in READERS or name.endswith(".raw_decode") or handled


@cache
def entrances() -> frozenset[str]:
    found: set[str] = set()
    for top in ("teams", "gateway", "adapters"):
        for file in (ROOT / top).rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            if MENTIONED.search(text):
                calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
                if any(map(reads, calls)):
                    found.add(file.relative_to(ROOT).as_posix())
    return frozenset(found)


def row_of(file: str) -> str:
    return next((row for row in ROWS if file == row or file.startswith(f"{row}/")), file)


def test_each_entrance_of_text_has_a_row_and_each_row_an_entrance() -> None:
    assert {row_of(file) for file in entrances()} == ROWS.keys()


@pytest.mark.parametrize("row", [row for row, why in ROWS.items() if why == WHOLE])
def test_what_is_made_whole_there_names_the_function(row: str) -> None:
    assert re.search(r"\bwhole_(?:text|texts|json)\b", (ROOT / row).read_text())


def test_a_memory_is_whole_with_all_that_is_said_about_it() -> None:
    metadata = {"k\ud83d": ["v\ude00", "\ud83d\ude00"]}
    made = MemoryContent(content="x\ud83d", mime_type="text/plain", metadata=metadata)
    assert (made.content, made.metadata) == ("x\ufffd", {"k\ufffd": ["v\ufffd", "\U0001f600"]})


def test_objects_in_what_a_model_wrote_are_whole() -> None:
    written = r'{"next": "a\ud83d", "why\ude00": ["\ud83d\ude00"]}'
    assert extract_json_from_str(written) == [{"next": "a\ufffd", "why\ufffd": ["\U0001f600"]}]
