"""Notebooks: only their code changes."""

from __future__ import annotations

import json

import pytest

from gateway.migrate.notebooks import rewrite_notebook


def notebook(*sources: object) -> str:
    cells: list[dict[str, object]] = [{"cell_type": "markdown", "source": ["from autogen_core\n"]}]
    cells += [{"cell_type": "code", "source": source, "outputs": []} for source in sources]
    return json.dumps({"cells": cells, "nbformat": 4}, indent=1) + "\n"


def test_code_cells_change_and_nothing_else_does() -> None:
    before = notebook(
        ["%pip install -q autogen-agentchat\n", "from autogen_core import Image\n", "x = !ls"],
        "import autogen_agentchat.agents as a\nawait a.AssistantAgent('x', m).run(task='é')",
        ["%%bash\n", "echo from autogen_core import Image\n"],
        ["print(1)"],
        "%%bash\npip install -U 'autogen-ext[openai]' pyautogen",
    )
    after, notes = rewrite_notebook(before)
    assert after == before.replace(
        "from autogen_core import Image\\n", "from teams.core import Image\\n", 1
    ).replace("import autogen_agentchat.agents", "import teams.agents")
    assert [(note.cell, note.note.line, note.note.text) for note in notes] == [
        (2, 1, "install parley-gateway instead"),
        (6, 2, "install parley-gateway instead"),
    ]
    assert rewrite_notebook(after)[0] == after


@pytest.mark.parametrize("command", ["pip install ag2[openai]", "pip3 install -q pyautogen"])
def test_a_bare_pip_install_is_read_as_a_command(command: str) -> None:
    after, notes = rewrite_notebook(notebook(f"{command}\nfrom autogen import GroupChat"))
    assert f"{command}\\nfrom teams.conversable import GroupChat" in after
    assert [note.note.text for note in notes] == ["install parley-gateway instead"]


def test_a_broken_cell_is_told_and_the_others_change() -> None:
    after, notes = rewrite_notebook(notebook("from autogen_core import (", "import autogen_core"))
    assert "import teams.core" in after
    assert [note.cell for note in notes] == [2]


def test_something_else_is_an_error() -> None:
    with pytest.raises(ValueError, match="no notebook"):
        rewrite_notebook("[]")
