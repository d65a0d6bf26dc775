"""Write the table of what an install brings: packages and megabytes.

`python docs/installed.py` measures it in this environment, which has the extra `all`, and the other
extras in environments of their own locks, which it makes in `.venv-extras` where they are missing.
Counted is what pip unpacks and compiles here; a test fails while the table lacks an extra.
"""

from __future__ import annotations

import json
import marshal
import re
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "install.md"
OURS = "parley-gateway"
OUR_FOLDERS = ("adapters", "deploy", "gateway", "teams")

PURPOSES = {
    "anthropic": "[Claude](tutorial/models.md#claude) models",
    "azure": "Azure's [tokens](tutorial/models.md), agents and [search](tutorial/toolkits.md)",
    "bedrock": "Claude models at Amazon's Bedrock",
    "canvas": "a [memory](tutorial/memory.md) of files that agents write",
    "chromadb": "a [memory](tutorial/memory.md) in Chroma",
    "diskcache": "a [cache](tutorial/models.md) of models' answers on disk",
    "docker": "[code](tutorial/code-execution.md) in containers",
    "docker-jupyter-executor": "[notebooks](tutorial/code-execution.md) in containers",
    "documents": "text of [DOCX, XLSX and PPTX](files.md)",
    "file-surfer": "an [agent](teams.md) that looks into files",
    "graphrag": "[search](tutorial/toolkits.md) in an index of GraphRAG",
    "jupyter-executor": "[notebooks](tutorial/code-execution.md) on this machine",
    "langchain": "[tools](tutorial/toolkits.md) of LangChain",
    "magentic-one": "[Magentic-One](tutorial/magentic-one.md) with files and a browser",
    "mcp": "[servers of tools](tutorial/mcp.md)",
    "mem0": "a [memory](tutorial/memory.md) that Mem0 keeps",
    "otel": "[traces](operate.md#traces) over OpenTelemetry",
    "postgres": "the store on [PostgreSQL](postgres.md), and [many nodes](nodes.md)",
    "prices": "list [prices](budgets.md) of known models",
    "redis": "a [cache](tutorial/models.md) of models' answers in Redis",
    "redisvl": "a [memory](tutorial/memory.md) in Redis",
    "semantic-kernel": "clients and [functions](tutorial/toolkits.md) of Semantic Kernel",
    "tiktoken": "exact numbers of tokens for OpenAI's models",
    "video-surfer": "an agent that watches videos",
    "web": "[your chat](terminal.md#in-a-browser) in a browser",
    "web-surfer": "an [agent](tutorial/browsing.md) with a browser, which is another 400 MB",
    "all": "all that can stand together",
}
"""The use of each extra."""


def project() -> dict[str, list[str]]:
    """The extras that pyproject.toml declares."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["project"]["optional-dependencies"]


def packages(*extras: str) -> set[str]:
    """Names of the packages here that come with Parley and these extras."""
    seen: set[tuple[str, str]] = set()
    todo = [(OURS, extra) for extra in ("", *extras)]
    while todo:
        if (found := todo.pop()) not in seen:
            seen.add(found)
            todo += _required(*found)
    return {name for name, _ in seen}


def _required(name: str, extra: str) -> Iterator[tuple[str, str]]:
    """Packages that one needs with an extra or without, and their extras."""
    for line in distribution(name).requires or ():
        needed = Requirement(line)
        if needed.marker is None or needed.marker.evaluate({"extra": extra}):
            inner = canonicalize_name(needed.name)
            yield from ((inner, each) for each in ("", *needed.extras))


def size(names: Iterable[str]) -> int:
    """Bytes of these packages, compiled."""
    return sum(map(_size_of, names))


@cache
def _size_of(name: str) -> int:
    files = _our_files() if name == OURS else _files(distribution(name))
    return sum(each.stat().st_size + _compiled(each) for each in files if each.is_file())


def _files(found: Distribution) -> Iterator[Path]:
    for each in found.files or ():
        if each.suffix != ".pyc":
            yield Path(str(found.locate_file(each)))


def _our_files() -> Iterator[Path]:
    for folder in OUR_FOLDERS:
        yield from (each for each in (ROOT / folder).rglob("*") if each.suffix != ".pyc")


def _compiled(file: Path) -> int:
    """Bytes of the file's .pyc, which pip writes."""
    if file.suffix != ".py":
        return 0
    try:
        with warnings.catch_warnings(action="ignore"):
            return len(marshal.dumps(compile(file.read_bytes(), file.name, "exec"))) + 16
    except (SyntaxError, ValueError):
        return 0  # a template, or a test's bad example


def measure(extra: str) -> tuple[int, int]:
    """Packages and bytes that an extra adds; "" is a plain install."""
    more = packages(extra) - packages() if extra else packages()
    return len(more), size(more)


def measured_apart(extra: str) -> tuple[int, int]:
    """The same in the environment of the extra's own lock."""
    folder = f".venv-extras/{extra}"
    make = [sys.executable, "-I", ROOT / "requirements" / "install.py", folder, f"extras/{extra}"]
    subprocess.run(make, check=True)
    ask = [ROOT / folder / "bin" / "python", "-I", __file__, extra]
    number, size = json.loads(subprocess.run(ask, stdout=subprocess.PIPE, check=True).stdout)
    return number, size


def table() -> Iterator[str]:
    """The lines of the table."""
    apart = {each.stem for each in (ROOT / "requirements" / "extras").glob("*.txt")}
    yield "| install | packages | MB | for |"
    yield "|---|--:|--:|---|"
    for extra in ("", *sorted(project().keys() - {"all"}), "all"):
        number, bytes_ = measured_apart(extra) if extra in apart else measure(extra)
        plus, name = ("+", f"`{OURS}[{extra}]`") if extra else ("", "`pip install .`")
        purpose = PURPOSES[extra] if extra else "Slack, Discord, the terminal, OpenAI's models"
        alone = ", in an environment of its own" if extra in apart else ""
        yield f"| {name} | {plus}{number} | {plus}{-(-bytes_ // 10**6)} | {purpose}{alone} |"


def write() -> None:
    """Replace the page's table."""
    text = PAGE.read_text(encoding="utf-8")
    written = re.sub(r"(?:^\|.*\n)+", "\n".join(table()) + "\n", text, count=1, flags=re.MULTILINE)
    PAGE.write_text(written, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.stdout.write(json.dumps(measure(sys.argv[1])))
    else:
        write()
