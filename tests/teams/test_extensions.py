"""Parts after AutoGen's extensions: each in its folder, imported by nothing else."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXTENSIONS = {
    "Azure AI agents": ["teams.agents.azure"],
    "Azure AI Search": ["teams.tools.azure"],
    "GraphRAG": ["teams.tools.graphrag"],
    "LangChain": ["teams.tools.langchain"],
    "Mem0": ["teams.memory.mem0"],
    "Semantic Kernel": ["teams.models.semantic_kernel", "teams.tools.semantic_kernel"],
    "task-centric memory": ["teams.experimental.task_centric_memory"],
    "video surfer": ["teams.agents.video_surfer"],
}


def imports() -> Iterator[tuple[str, str]]:
    """Modules of the product that name an extension, and what they import."""
    names = [home.rpartition(".")[2] for homes in EXTENSIONS.values() for home in homes]
    for folder in ("adapters", "gateway", "teams"):
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            module = ".".join(parts).removesuffix(".__init__")
            text = path.read_text(encoding="utf-8")
            if not any(name in text for name in names):
                continue
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Import):
                    yield from ((module, each.name) for each in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module:
                    yield from ((module, f"{node.module}.{each.name}") for each in node.names)


def is_in(module: str, homes: list[str]) -> bool:
    return any(module == home or module.startswith(f"{home}.") for home in homes)


@pytest.fixture(scope="module")
def imported() -> list[tuple[str, str]]:
    return list(imports())


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_nothing_outside_of_an_extension_imports_it(
    imported: list[tuple[str, str]], extension: str
) -> None:
    homes = EXTENSIONS[extension]
    users = {by for by, name in imported if is_in(name, homes)}
    assert [by for by in sorted(users) if not is_in(by, homes)] == []
    assert any(is_in(by, homes) for by, _ in imported)
