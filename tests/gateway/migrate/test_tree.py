"""A project in AutoGen's style is migrated, and then runs."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.migrate.tree import Migration, plan, write
from tests.gateway.migrate.programs import PROGRAMS, SCRIPTED

IMPORT = "from autogen_core import CancellationToken\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Migration]]:
    """The whole project, migrated and importable."""
    root = tmp_path_factory.mktemp("project")
    (root / "shop").mkdir()
    (root / "shop" / "__init__.py").write_text("")
    (root / "shop" / "scripted.py").write_text(SCRIPTED)
    for name, (source, _) in PROGRAMS.items():
        (root / "shop" / f"{name}.py").write_text(source)
    migration = plan(root)
    write(migration.changes)
    sys.path.insert(0, str(root))
    yield root, migration
    sys.path.remove(str(root))
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]


@pytest.mark.parametrize("name", PROGRAMS)
async def test_a_migrated_program_runs(name: str, project: tuple[Path, Migration]) -> None:
    root, _ = project
    left = (root / "shop" / f"{name}.py").read_text()
    assert "autogen" not in left
    main = importlib.import_module(f"shop.{name}").main
    assert await main() == PROGRAMS[name][1]


def test_a_second_time_changes_nothing(project: tuple[Path, Migration]) -> None:
    root, first = project
    assert len(first.changes) == len(PROGRAMS) + 1 > 30
    assert [remark.path.name for remark in first.remarks] == ["star.py"]
    assert plan(root) == Migration(files=len(PROGRAMS) + 2)


def test_links_hidden_folders_and_virtual_environments_are_left_alone(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    tree = tmp_path / "tree"
    for folder in (outside, tree, tree / ".git", tree / "env", tree / "node_modules"):
        folder.mkdir(parents=True)
        (folder / "a.py").write_text(IMPORT)
    (tree / "env" / "pyvenv.cfg").write_text("")
    (tree / "linked").symlink_to(outside)
    (tree / "link.py").symlink_to(outside / "a.py")
    (tree / "a.py").chmod(0o755)
    migration = plan(tree)
    write(migration.changes)
    assert [change.path for change in migration.changes] == [tree / "a.py"]
    assert (tree / "a.py").read_text() == "from teams.core import CancellationToken\n"
    assert (tree / "a.py").stat().st_mode & 0o777 == 0o755
    assert (outside / "a.py").read_text() == IMPORT


def test_a_link_that_is_named_itself_stays_a_link_and_its_file_changes(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(IMPORT)
    link = tmp_path / "link.py"
    link.symlink_to("a.py")
    write(plan(link).changes)
    assert link.is_symlink()
    assert (tmp_path / "a.py").read_text() == "from teams.core import CancellationToken\n"


def test_broken_source_and_packages_are_reported(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("from autogen_core import (\n")
    (tmp_path / "requirements.txt").write_text("click\nautogen-agentchat==0.7.5\n")
    (tmp_path / "latin.py").write_bytes(b"# coding: latin-1\r\n# \xe9\r\n" + IMPORT.encode())
    (tmp_path / "teams.py").write_text("")
    migration = plan(tmp_path)
    told = [str(remark).removeprefix(f"{tmp_path}/") for remark in migration.remarks]
    assert told[0].startswith("broken.py:")
    assert "can't be read as Python" in told[0]
    assert told[1:] == [
        "requirements.txt:2: name parley-gateway instead",
        "teams.py:1: it hides Parley's package `teams`: rename it",
    ]
    [change] = migration.changes
    expected = b"# coding: latin-1\r\n# \xe9\r\nfrom teams.core import CancellationToken\n"
    assert change.after == expected
    assert "-from autogen_core import" in change.diff()


def test_a_component_file_stays_and_gets_functions_for_its_tools(tmp_path: Path) -> None:
    source = 'def add(a: int, b: Big = os.getcwd(), *, c: "x" = 3) -> list[int]:\n    return 1\n'
    tool = {
        "provider": "autogen_core.tools.FunctionTool",
        "config": {"name": "add", "description": 'Say "a".', "source_code": source},
    }
    client = {"provider": "autogen_ext.models.llama_cpp.LlamaCppChatCompletionClient", "config": {}}
    (tmp_path / "my-team.json").write_text(json.dumps({"tools": [tool], "model": client}))
    migration = plan(tmp_path)
    write(migration.changes)
    assert sorted(str(remark).removeprefix(f"{tmp_path}/") for remark in migration.remarks) == [
        "my-team.json:1: write my_team_tools.py, and load the file with "
        'tool_overrides={"add": "my_team_tools:add"}',
        "my-team.json:model: autogen_ext.models.llama_cpp.LlamaCppChatCompletionClient has no "
        "counterpart",
    ]
    stub = (tmp_path / "my_team_tools.py").read_text()
    assert "def add(a: int, b: Any = None, *, c: Any = 3) -> list[int]:" in stub
    assert "    # def add(a: int, b: Big = os.getcwd()" in stub
    compile(stub, "stub", "exec")
    (tmp_path / "my_team_tools.py").write_text("mine")
    assert plan(tmp_path).changes == []


def test_only_a_line_end_ends_a_line_of_the_diff(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"import autogen_core\r\n\x0c# odd\xe2\x80\xa8end")
    [change] = plan(tmp_path).changes
    assert change.diff().split("\n")[2:] == [
        "@@ -1,2 +1,2 @@",
        "-import autogen_core\r",
        "+import teams.core\r",
        " \x0c# odd\u2028end",
        "\\ No newline at end of file",
        "",
    ]
