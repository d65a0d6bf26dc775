"""The transcript of the line mode: plain lines, each printed once.

Only lines of our own begin at column 0: what anybody says goes on indented (`text.indented`).
"""

from adapters.terminal.text import INDENT, first_lines, format_duration
from gateway.items import (
    AgentItem,
    HandoffItem,
    HumanItem,
    Item,
    NoticeItem,
    RequestItem,
    ThoughtItem,
    ToolItem,
    ToolState,
)
from gateway.picture import Picture
from gateway.questions import advice_lines, question_lines
from gateway.render.sanitize import one_line, shorten

RECENT = 100
"""Items that may still change; what stands further up is printed and done with."""
RESULT_LINES = 10
WIDTH = 200


class LineTranscript:
    """Turns each change of a model into lines."""

    def __init__(self, model: Picture) -> None:
        self.model = model
        self._seen: dict[str, Item] = {}
        self._printed: dict[str, str] = {}
        self._speaking = ""
        self._asked: set[str] = set()
        self._held = ""
        self.echo = True
        """True if people's messages are printed, too."""

    def skip(self, *, keep: int) -> None:
        """Take all but the last items as printed already."""
        for key in self.model.keys[:-keep]:
            self._seen[key] = self.model.items[key]

    def new_lines(self) -> list[str]:
        """The lines that have come since the last call."""
        lines: list[str] = []
        for key in self.model.keys[-RECENT:]:
            item, before = self.model.items[key], self._seen.get(key)
            if item is not before and self._may_print(item):
                lines += self._changed_lines(item, before)
                self._seen[key] = item
        if self.model.held != self._held:
            self._held = self.model.held
            lines += [f"note: {self._held}"] if self._held else []
        for request in self.model.requests.values():
            if request.request not in self._asked:
                self._asked.add(request.request)
                lines += [*question_lines(request), *advice_lines(request)]
        return lines

    def _may_print(self, item: Item) -> bool:
        """True if no other message is being printed."""
        if not isinstance(item, AgentItem):
            return True
        if self._speaking and self._speaking != item.key:
            return False
        self._speaking = item.key if item.open else ""
        return True

    def _changed_lines(self, item: Item, before: Item | None) -> list[str]:
        match item:
            case AgentItem():
                return self._message_lines(item)
            case ToolItem():
                return _tool_lines(item, before if isinstance(before, ToolItem) else None)
            case HumanItem():
                said = "\n".join(filter(None, (item.text, item.attached)))
                line = f"{item.author}: {said}" if self.echo else ""
            case ThoughtItem():
                line = f"{item.agent.name} thinks: {shorten(one_line(item.text), WIDTH)}"
            case HandoffItem(text=text):
                message = f": {one_line(text)}" if text else ""
                line = f"hand-off: {item.agent.name} to {item.target.name}{message}"
            case RequestItem():  # `question_lines` say it
                line = f"answered {item.agent.name}: {item.outcome}" if item.outcome else ""
            case NoticeItem():
                line = f"{item.word}: {item.text}{item.log}"
        return [line] if line else []

    def _message_lines(self, item: AgentItem) -> list[str]:
        """Whole lines as they are finished, the rest with the message."""
        whole = item.text[: item.text.rfind("\n") + 1] if item.open else item.text
        printed = self._printed.get(item.key, "")
        if not whole.startswith(printed) and not item.open:
            printed = ""  # another text stands there now: what was printed can't be taken back
        end = [f"{INDENT}{item.mark}"] if item.mark else []
        if len(whole) <= len(printed):
            return end
        self._printed[item.key] = whole
        text = whole[len(printed) :]
        text = text.removesuffix("\n") if item.open else text.rstrip("\n")
        return [f"{INDENT}{text}" if printed else f"{item.agent.name}: {text}", *end]


def _tool_lines(item: ToolItem, before: ToolItem | None) -> list[str]:
    who, took = f"tool: {item.agent.name}", format_duration(item.duration)
    shown, more = first_lines(item.result, RESULT_LINES)
    lines = [f"{who} runs {item.line}"] if before is None else []
    ends: dict[ToolState, str] = {
        "done": f" done in {took}",
        "denied": f" {item.decision}",
        "failed": f" failed after {took}: {shown}",
        "unknown": ": the outcome is unknown",
        "stopped": f" stopped after {took}" if item.duration else " stopped",
    }
    if item.state in ends and (before is None or item.state != before.state):
        lines.append(f"{who} {item.tool}{ends[item.state]}")
        lines += [f"  … {more} more lines"] if item.state == "failed" and more else []
    return lines
