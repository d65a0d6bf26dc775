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

_CITED = re.compile(r"(?<![\\!])\[(\d{1,6}(?: ?[,;] ?\d{1,6})*+)\](?!\()")
"""Numbers in brackets that are no link."""
_ENCODED = str.maketrans({"<": "%3C", ">": "%3E", " ": "%20"})


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
    """The answer with the sources below it that it cites.

    What an answer says stays as it grew before people's eyes: nothing within it changes.
    """
    cited = dict[int, Source]()

    def look(lines: str, _code: Sequence[str]) -> str:
        for numbers in _CITED.findall(lines):
            for number in map(int, re.findall(r"\d+", numbers)):
                if number in known:
                    cited[number] = known[number]
        return lines

    if known:
        change_prose(text, look)
    named = [f"- [{each.number}] {_named(each)}" for each in [*cited.values()][:MOST]]
    return "\n".join([f"{text}\n\nSources:", *named]) if named else text


def _named(source: Source) -> str:
    if source.address:
        return f"<{source.address.translate(_ENCODED)}>"
    name = shorten(one_line(source.name), NAME_LENGTH).replace("`", "'")
    return f"`{name}`, line {source.line}"
