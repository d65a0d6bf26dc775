"""Files that agents write together; patches need the extra `canvas`."""

from __future__ import annotations

import difflib
import io
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from typing_extensions import override

from teams._base.cancellation import CancellationToken
from teams._base.extras import require_packages
from teams._tools.base import ToolTraits
from teams._tools.function import FunctionTool
from teams.memory._base import Memory, MemoryContent, MemoryQueryResult, UpdateContextResult
from teams.model_context._contexts import ChatCompletionContext
from teams.models._types import LLMMessage, SystemMessage

HEADING = "The canvas: files that the team writes together, as they stand now."

_TRAITS = ToolTraits(serial=True, own_output=True, in_state=True)


class CanvasResult(BaseModel):
    """Outcome of a change, for the model."""

    status: str


class TextCanvas:
    """Text files in memory with all their revisions, numbered from 1."""

    def __init__(self) -> None:
        require_packages("This memory needs", "canvas", "unidiff")
        self._files: dict[str, list[str]] = {}

    def list_files(self) -> dict[str, int]:
        """The newest revision of each file."""
        return {name: len(revisions) for name, revisions in self._files.items()}

    def get_latest_content(self, filename: str) -> str:
        """The newest content; "" for a missing file."""
        return self.get_revision_content(filename, len(self._files.get(filename, ())))

    def get_revision_content(self, filename: str, revision: int) -> str:
        """The content of a revision; "" for a missing one."""
        revisions = self._files.get(filename, ())
        return revisions[revision - 1] if 0 < revision <= len(revisions) else ""

    def add_or_update_file(self, filename: str, new_content: str | bytes | Any) -> None:
        """Add a revision. Raises ValueError for anything but text."""
        self._files.setdefault(filename, []).append(_as_text(new_content))

    def get_diff(self, filename: str, from_revision: int, to_revision: int) -> str:
        """The unified diff between two revisions, `name@rN` in its head."""
        old, new = (self._lines(filename, each) for each in (from_revision, to_revision))
        names = (f"{filename}@r{from_revision}", f"{filename}@r{to_revision}")
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in difflib.unified_diff(old, new, *names)
        )

    def get_revision_diffs(self, filename: str) -> list[str]:
        """The diffs from each revision to the next."""
        last = len(self._files.get(filename, ()))
        return [self.get_diff(filename, each, each + 1) for each in range(1, last)]

    def apply_patch(self, filename: str, patch_data: str | bytes | Any) -> None:
        """Add the revision that a unified diff makes of the newest.

        Raises ValueError for a missing file, and for a patch that is empty, malformed, for several
        files, or does not fit what stands there.
        """
        if filename not in self._files:
            raise ValueError(f"The canvas has no file {filename!r}.")
        patched = _patched(self.get_latest_content(filename), _hunks(_as_text(patch_data)))
        self.add_or_update_file(filename, patched)

    def get_all_contents_for_context(self) -> str:
        """All files as the model is shown them."""
        files = [
            f"### {name} (revision {revision})\n{self.get_latest_content(name)}"
            for name, revision in self.list_files().items()
        ]
        return "\n\n".join([HEADING, *files])

    def clear(self) -> None:
        """Delete all files."""
        self._files.clear()

    def save_state(self) -> dict[str, str]:
        """Each revision by its name, `name@N`."""
        return {
            f"{name}@{number}": content
            for name, revisions in self._files.items()
            for number, content in enumerate(revisions, 1)
        }

    def load_state(self, state: Mapping[str, str]) -> None:
        """Hold what `save_state` gave."""
        self._files.clear()
        for key, content in state.items():
            self.add_or_update_file(key.rpartition("@")[0], content)

    def _lines(self, filename: str, revision: int) -> list[str]:
        return list(io.StringIO(self.get_revision_content(filename, revision), newline="\n"))


class TextCanvasMemory(Memory):
    """Shows the model the canvas at the start of each turn.

    The model context holds the newest state alone. Give an agent the two tools, too, if it writes.
    The files are part of the agent's state.
    """

    def __init__(self, canvas: TextCanvas | None = None) -> None:
        self.canvas = canvas if canvas is not None else TextCanvas()

    @override
    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        history = model_context.history
        text = self.canvas.get_all_contents_for_context() if self.canvas.list_files() else ""
        shown = [message for message in history if _shows_canvas(message)]
        if [message.content for message in shown] != [text]:
            if shown:
                history.replace([each for each in history if not _shows_canvas(each)])
            if text:
                await model_context.add_message(SystemMessage(content=text))
        return UpdateContextResult(memories=MemoryQueryResult(results=[]))

    @override
    async def query(
        self,
        query: str | MemoryContent = "",
        cancellation_token: CancellationToken | None = None,
        **kwargs: Any,
    ) -> MemoryQueryResult:
        """Nothing: a canvas is shown, not searched."""
        return MemoryQueryResult(results=[])

    @override
    async def add(
        self, content: MemoryContent, cancellation_token: CancellationToken | None = None
    ) -> None:
        """Do nothing: agents write with the tools."""

    @override
    async def clear(self) -> None:
        self.canvas.clear()

    @override
    async def close(self) -> None:
        pass

    @override
    async def save_state(self) -> Mapping[str, Any]:
        return self.canvas.save_state()

    @override
    async def load_state(self, state: Mapping[str, Any]) -> None:
        self.canvas.load_state(state)

    def get_update_file_tool(self) -> FunctionTool:
        """The tool `update_file`, which writes a file anew."""
        return FunctionTool(
            self._update_file,
            name="update_file",
            description="Write a file of the canvas: a new one, or the whole content anew.",
            traits=_TRAITS,
        )

    def get_apply_patch_tool(self) -> FunctionTool:
        """The tool `apply_patch`, which changes a part of a file."""
        return FunctionTool(
            self._apply_patch,
            name="apply_patch",
            description="Change a file of the canvas by a unified diff against its newest content.",
            traits=_TRAITS,
        )

    async def _update_file(self, filename: str, new_content: str) -> CanvasResult:
        self.canvas.add_or_update_file(filename, new_content)
        return CanvasResult(status="OK")

    async def _apply_patch(self, filename: str, patch_text: str) -> CanvasResult:
        self.canvas.apply_patch(filename, patch_text)
        return CanvasResult(status="PATCH APPLIED")


def _shows_canvas(message: LLMMessage) -> bool:
    return isinstance(message, SystemMessage) and message.content.startswith(HEADING)


def _as_text(content: object) -> str:
    match content:
        case str():
            return content
        case bytes():
            return content.decode()
        case _:
            raise ValueError(f"A canvas holds text, found {type(content).__name__}.")


def _hunks(patch: str) -> list[Any]:
    from unidiff.errors import UnidiffParseError  # optional
    from unidiff.patch import PatchSet

    if patch.startswith("@@"):  # models leave out the names
        patch = f"--- a\n+++ b\n{patch}"
    try:
        files = PatchSet(patch if patch.endswith("\n") else f"{patch}\n")
    except UnidiffParseError as error:
        raise ValueError(f"The patch is no unified diff: {error}") from error
    if len(files) != 1 or not len(files[0]):
        raise ValueError(f"A patch changes one file; this one has {len(files)} with changes.")
    return list(files[0])


def _patched(text: str, hunks: list[Any]) -> str:
    """The text with the hunks. Raises ValueError where one does not fit."""
    lines, ends = text.removesuffix("\n").split("\n") if text else [], not text or text[-1] == "\n"
    shift = 0
    for number, hunk in enumerate(hunks, 1):
        old, new, last = list[str](), list[str](), ""
        for line in hunk:
            value = line.value.removesuffix("\n")
            if line.line_type in " -":
                old.append(value)
            if line.line_type in " +":
                new.append(value)
            if line.line_type == "\\" and last in "-+":
                ends = last == "-"
            last = line.line_type
        # A hunk that only adds names the line before it.
        at = hunk.source_start - (1 if old else 0) + shift
        if (found := lines[at : at + len(old)]) != old:
            raise ValueError(
                f"Hunk {number} does not fit at line {at + 1}. The patch expects {old!r}, and the "
                f"file has {found!r}."
            )
        lines[at : at + len(old)] = new
        shift += len(new) - len(old)
    return "\n".join(lines) + ("\n" if ends and lines else "")


__all__ = ["TextCanvas", "TextCanvasMemory"]
