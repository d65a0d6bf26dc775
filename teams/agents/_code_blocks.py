"""Code in messages: where it is, and what is said about what came of it."""

from __future__ import annotations

import re
from collections.abc import Collection

from teams.code_executor import CodeBlock, CodeResult

# Fences of three backticks or more, closed by as many at least; the info string begins with the
# language.
_FENCED = re.compile(
    r"(?ms)^[ \t]*(?P<fence>`{3,})[ \t]*(?P<language>[\w+#-]*)[^`\n]*\n"
    r"(?P<code>.*?)^[ \t]*(?P=fence)`*[ \t]*$"
)


def find_code_blocks(markdown: str, languages: Collection[str]) -> list[CodeBlock]:
    """The fenced code blocks in these languages, in order."""
    known = {language.lower() for language in languages}
    return [
        CodeBlock(code=found["code"], language=found["language"])
        for found in _FENCED.finditer(markdown.replace("\r\n", "\n"))
        if found["language"].lower() in known
    ]


def account(result: CodeResult) -> str:
    """What came of executing code, in words, for whoever goes on from it."""
    if result.exit_code != 0:
        return f"The code failed with exit code {result.exit_code}. Its output:\n{result.output}"
    return result.output if result.output.strip() else "The code ran and printed nothing."
