"""The documentation's code runs, and prints what the pages say.

A reader pastes the Python blocks of a page, in order, at the prompt of `python -m asyncio`.
`Prompt` takes them line by line, with the scripted server as OpenAI. That server has a worker of
its own, so that sync code may wait for it. In a page's source,

- `<!-- answers: [...] -->` is what the model answers next (see `parse_script`),
- `<!-- ollama: [...] -->` is the same for the scripted Ollama (see `Say`),
- a block of `text` right after one of Python is what it prints,
- a block marked `python no-run` is pasted, and not executed.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import io
import json
import re
import sys
from codeop import CommandCompiler
from collections.abc import AsyncIterator, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from opentelemetry import trace
from opentelemetry.util._once import Once

from docs import gallery
from docs.gallery_scenes import SCENES
from teams.testing import Say
from tests.fakes import forked_command
from tests.fakes.ollama_server import FakeOllama
from tests.fakes.openai_in_thread import openai_in_thread
from tests.fakes.openai_script import parse_script
from tests.fakes.openai_server import FakeOpenAI

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [*sorted((DOCS / "tutorial").glob("*.md")), DOCS / "migrate-from-autogen.md"]
MODELS = ("gpt-4o-mini", "gpt-4o", "o3-mini", "local")

FENCE = re.compile(r"^```(\w*) ?([\w-]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ANSWERS = re.compile(r"<!-- answers: (.*?) -->", re.DOTALL)
OLLAMA = re.compile(r"<!-- ollama: (.*?) -->", re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


@dataclass(frozen=True, slots=True)
class Step:
    """A block of Python, with the model's answers and printed output."""

    line: int
    code: str
    answers: list[dict[str, object]]
    ollama: list[Say]
    output: str | None
    runs: bool


def steps(path: Path) -> Iterator[Step]:
    page = path.read_text()
    fences = list(FENCE.finditer(page))
    begin = 0
    for index, fence in enumerate(fences):
        language, mark, code = fence.groups()
        if language != "python":
            continue
        answers, ollama = (
            [
                entry
                for found in kind.finditer(page, begin, fence.start())
                for entry in json.loads(found[1])
            ]
            for kind in (ANSWERS, OLLAMA)
        )
        begin = fence.end()
        following = fences[index + 1] if index + 1 < len(fences) else None
        shown = (
            following is not None
            and following[1] == "text"
            and not page[fence.end() : following.start()].strip()
        )
        output = following[3] if following is not None and shown else None
        said = [Say(**entry) for entry in ollama]
        line = page.count("\n", 0, fence.start(3))
        yield Step(line, code, answers, said, output, runs=mark != "no-run")


@pytest.fixture
async def ollama(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeOllama]:
    async with FakeOllama(models={"qwen3:8b": {}}) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        yield server


@pytest.fixture
def openai_server() -> Iterator[FakeOpenAI]:
    with openai_in_thread() as server:
        yield server


@pytest.mark.timeout(30)
@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
async def test_the_code_of_a_page_runs_and_prints_what_is_shown(
    page: Path,
    openai_server: FakeOpenAI,
    ollama: FakeOllama,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
):
    openai_server.models.update(MODELS)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-docs")
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.url)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)  # a page may set one
    monkeypatch.setattr(trace, "_TRACER_PROVIDER_SET_ONCE", Once())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "displayhook", lambda value: None)  # values that the prompt echoes
    prompt = Prompt(page.name)

    for step in steps(page):
        ordered, rules = parse_script(step.answers, openai_server.gate)
        openai_server.script(*ordered)
        openai_server.rule(*rules)
        ollama.script(*step.ollama)
        printed = io.StringIO()
        with redirect_stdout(printed):
            await prompt.paste(step)
        where = f"{page.name}:{step.line + 1}"
        assert step.output is None or printed.getvalue() == step.output, where
        assert not openai_server._answers, f"{where}: more answers than questions"
        assert not ollama._answers, f"{where}: more answers than questions"
        assert [request.refused for request in openai_server.requests if request.refused] == []


class Prompt:
    """The prompt of `python -m asyncio`, as Python 3.11 has it.

    It reads line by line, so a blank line ends what is indented. No module has its names, and its
    functions have no source.
    """

    def __init__(self, page: str) -> None:
        self._page = page
        self._names: dict[str, object] = {"__name__": "__main__", "asyncio": asyncio}
        self._compile = CommandCompiler()
        self._compile.compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT

    async def paste(self, step: Step) -> None:
        """Enter the lines of a block, and a blank line."""
        for statement in self._statements(step):
            if step.runs:
                result = FunctionType(statement, self._names)()
                if inspect.iscoroutine(result):
                    await result

    def _statements(self, step: Step) -> Iterator[CodeType]:
        entered: list[str] = []
        for number, line in enumerate([*step.code.splitlines(), ""], step.line + 1):
            entered.append(line)
            name = f"<{self._page}:{number - len(entered) + 1}>"  # the page's line in errors
            if statement := self._compile("\n".join(entered), name, "single"):
                yield statement
                entered.clear()
        assert not entered, f"{self._page}:{step.line + 1}: the block does not end"


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.stem)
def test_links_between_pages_lead_somewhere(page: Path):
    targets = LINK.findall(FENCE.sub("", page.read_text()))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_index_names_every_page_and_a_page_those_of_its_folder():
    indices = [page for page in DOCS.glob("*.md") if page.with_suffix("").is_dir()]
    listed = {
        (DOCS / target).resolve()
        for index in (DOCS / "README.md", *indices)
        for target in LINK.findall(index.read_text())
        if index.name == "README.md" or target.startswith(f"{index.stem}/")
    }
    pages = {page for page in DOCS.rglob("*.md") if page.name != "README.md"}
    assert pages - listed == set()


def test_the_team_of_the_readme_is_right_as_it_stands_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    blocks = {
        (kind, code.partition("\n")[0]): code
        for kind, _, code in FENCE.findall((DOCS.parent / "README.md").read_text())
    }
    (tmp_path / "config.toml").write_text(blocks["toml", "# config.toml"])
    (tmp_path / "shop.py").write_text(blocks["python", "# shop.py"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-docs")
    out, err = tmp_path / "out", tmp_path / "err"
    command = ("check", "--offline", "--trust-config")
    check = forked_command.begin(*command, stdout=out, stderr=err)
    assert (forked_command.code_of(check, 30), err.read_text()) == (0, "")
    assert "front, refunds" in out.read_text()


def cards(page: str) -> list[str]:
    """The cards with buttons and the errors of the gallery's payloads."""
    return [
        call
        for call in re.split("\n\n|~~~~text\n", page)
        if re.match("chat.postMessage|POST .*/messages\n", call)
        and re.search("g:approve:|g:choices?:|ERROR1", call)
    ]


@pytest.mark.chaos
@pytest.mark.timeout(60)  # both simulators, one after the other
async def test_the_gallery_shows_what_goes_over_the_wire():
    pages = await gallery.pages()
    written, now = "\n\n".join(page.read_text() for page in pages), "\n\n".join(pages.values())
    for scene in SCENES:
        for platform in ("Slack", "Discord"):
            assert f"## {scene.title} on {platform}\n" in written
    assert len(cards(now)) == 10
    assert cards(written) == cards(now), "run `python docs/gallery.py`: the gallery is out of date"
