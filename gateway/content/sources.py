"""Passages of knowledge, and the numbers by which answers cite them.

Pure. A number of nothing that the agent was told in its turn stays the text that it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from gateway.events import Source
from gateway.render.code import change_prose
from gateway.render.sanitize import one_line, shorten
from teams.memory import MemoryContent

MOST = 50
"""Passages that are named below one answer."""
NAME_LENGTH = 120

_CITED = re.compile(
    r"(?<![\\!\]])(?:\[\d{1,6}(?: ?[,;] ?\d{1,6})*+\])++(?![(\[])(?!(?<=^\[\d\]):)", re.MULTILINE
)
"""Numbers in brackets that are no link and define none."""
_ENCODED = str.maketrans({"(": "%28", ")": "%29", "<": "%3C", ">": "%3E", " ": "%20"})


def sources_of(found: Iterable[MemoryContent]) -> tuple[Source, ...]:
    """The numbered passages among what memories found."""
    sources = list[Source]()
    for each in found:
        match each.metadata:
            case {"number": int(number), "source": str(name), "line": int(line)}:
                sources.append(Source(number=number, name=name, line=line))
            case _:
                pass
    return tuple(sources)


def with_sources(text: str, known: Mapping[int, Source]) -> str:
    """The answer with links to pages, and files named below it."""
    cited = dict[int, Source]()

    def linked(found: re.Match[str]) -> str:
        numbers = [int(each) for each in re.findall(r"\d+", found[0])]
        if not all(number in known for number in numbers):
            return found[0]
        cited.update((number, known[number]) for number in numbers)
        return ", ".join(_number(known[number]) for number in numbers)

    def change(lines: str, _code: Sequence[str]) -> str:
        return _CITED.sub(linked, lines)

    changed = change_prose(text, change) if known else text
    files = [each for each in cited.values() if not each.address][:MOST]
    return "\n\n".join([changed, *[_named(files)] * bool(files)])


def _number(source: Source) -> str:
    if not source.address:
        return f"[{source.number}]"
    return f"[{source.number}]({source.address.translate(_ENCODED)})"


def _named(files: Sequence[Source]) -> str:
    names = [
        f"[{each.number}] `{shorten(one_line(each.name), NAME_LENGTH).replace('`', chr(39))}`, "
        f"line {each.line}"
        for each in files
    ]
    return "Sources: " + "; ".join(names)
