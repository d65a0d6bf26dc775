"""Modules of a folder, imported anew after a change."""

import sys
from pathlib import Path

import pytest

from gateway.base.folder_modules import FolderModules
from gateway.base.imports import ImportPathError, Imports

pytestmark = pytest.mark.usefixtures("fresh_imports")


ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "__init__.py").write_text("from words.one import WORD\n")
    (tmp_path / "words" / "one.py").write_text("WORD = 'old'\ndef say():\n    return WORD\n")
    (tmp_path / "gateway.py").write_text("")
    return tmp_path


def change(folder: Path) -> None:
    (folder / "words" / "one.py").write_text("WORD = 'new'\ndef say():\n    return WORD\n")


def test_a_changed_module_is_imported_anew_and_who_has_the_old_one_keeps_it(folder):
    before = Imports(folder)
    old = before.load("words.one:say")
    modules = FolderModules(folder)
    assert modules.files == {folder / "words" / "__init__.py", folder / "words" / "one.py"}
    assert modules.forget_changed() == {}
    change(folder)
    assert sorted(modules.forget_changed()) == ["words", "words.one"]
    assert Imports(folder).load("words:WORD") == "new"
    assert (before.load("words.one:say"), old()) == (old, "old")
    modules.note()
    assert modules.forget_changed() == {}


def test_what_was_forgotten_is_brought_back_after_a_mistake(folder):
    Imports(folder).load("words:WORD")
    modules, old = FolderModules(folder), sys.modules["words.one"]
    (folder / "words" / "one.py").write_text("WORD = \n")
    forgotten = modules.forget_changed()
    with pytest.raises(ImportPathError, match="SyntaxError"):
        Imports(folder).load("words:WORD")
    modules.bring_back(forgotten)
    assert sys.modules["words.one"] is old
    assert Imports(folder).load("words:WORD") == "old"


def test_a_removed_file_is_a_change_and_modules_from_elsewhere_stay(folder):
    Imports(folder).load("words:WORD")
    modules = FolderModules(folder)
    (folder / "words" / "one.py").unlink()
    assert sorted(modules.forget_changed()) == ["words", "words.one"]
    assert "gateway" in sys.modules
    tops = {path.relative_to(ROOT).parts[0] for path in FolderModules(ROOT).files}
    assert not tops & {"adapters", "gateway", "teams"}
