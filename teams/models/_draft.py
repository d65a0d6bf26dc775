"""An answer that grows by what a dialect reads of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import cast

from teams._base.tool_call import FunctionCall
from teams._base.whole_text import whole_text
from teams.models._edge import arguments_text, reported_usage
from teams.models._errors import BadAnswer, CutAnswer, ModelDisconnected, ModelRefused
from teams.models._thought import ThoughtParser
from teams.models._types import (
    ChatCompletionTokenLogprob,
    CreateResult,
    FinishReasons,
    HostedResult,
    ThoughtPiece,
    Wire,
)

CUT = "The answer was cut at the token limit before it said anything"
_PREFIX = "functions."
"""Models of OpenAI write it before a tool's name now and then."""
FILTERED = "The provider's content filter withheld the answer"


@dataclass(slots=True)
class DraftCall:
    """A tool call that grows."""

    id: str
    name: str
    arguments: list[str] = field(default_factory=list[str])

    def take(self, arguments: object) -> None:
        """Take more of the arguments, if it is any."""
        text = arguments if isinstance(arguments, str) else arguments_text(arguments or {})
        if text:
            self.arguments.append(text)

    def whole(self, names: Mapping[str, str]) -> FunctionCall:
        """The call of the tool with this name, perhaps prefixed."""
        arguments = "".join(self.arguments).strip() or "{}"
        sent = self.name if self.name in names else self.name.removeprefix(_PREFIX)
        return FunctionCall(id=self.id, name=names.get(sent, self.name), arguments=arguments)


@dataclass(slots=True, kw_only=True)
class Draft:
    """An answer as far as it has come.

    `structured`: its text has to be JSON, so a refusal is no answer. `names` has the offered
    tools' own names by those that were sent. A dialect keeps in `blocks` what has to be sent back
    as it came, and gives in `hosted` the further fields of a HostedResult.
    """

    finishes: Mapping[str, FinishReasons]
    structured: bool = False
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    marks: ThoughtParser | None = None
    begun: bool = False
    complete: bool = False
    """The end has come, whether or not it was given a reason."""
    error: object = None
    """The provider's own error."""
    finish: str = ""
    """The provider's own word for the end."""
    withheld: str = ""
    """The sentence for an answer that was withheld."""
    refusal: str = ""
    """The model's own words for a refusal."""
    usage: Wire = field(default_factory=dict[str, object])
    logprobs: list[ChatCompletionTokenLogprob] = field(
        default_factory=list[ChatCompletionTokenLogprob]
    )
    calls: list[DraftCall] = field(default_factory=list[DraftCall])
    blocks: dict[object, tuple[Mapping[str, object], dict[str, list[str]]]] = field(
        default_factory=dict[object, tuple[Mapping[str, object], dict[str, list[str]]]]
    )
    open_calls: dict[object, DraftCall] = field(default_factory=dict[object, DraftCall])
    """The newest call with each index."""
    _by_id: dict[str, DraftCall] = field(default_factory=dict[str, DraftCall])
    hosted: Wire = field(default_factory=dict[str, object])
    growth: list[str] | None = None
    """Gains of the thought that were not told yet; None if nobody asks."""
    _spent: list[Wire] = field(default_factory=list[Wire])
    """The usage of requests that the last one continued."""
    _text: list[str] = field(default_factory=list[str])
    _thoughts: list[str] = field(default_factory=list[str])

    def think_aloud(self) -> None:
        """Tell of the thought while it grows."""
        self.growth = []
        if self.marks is not None:
            self.marks.growth = self.growth

    def gain(self, text: str) -> None:
        """Take a piece of reasoning that comes again in the end."""
        if self.growth is not None and text:
            self.growth.append(text)

    def grown(self) -> ThoughtPiece:
        """The gain of the thought."""
        piece = ThoughtPiece(whole_text("".join(self.growth or ())))
        (self.growth or []).clear()
        return piece

    def say(self, text: str) -> str:
        """Take a piece of the text; the part that may be shown."""
        if self.marks is not None:
            text = self.marks.read(text)
        self._text.append(text)
        return text

    def think(self, text: str) -> None:
        """Take a piece of the reasoning."""
        if text and self.marks is not None:
            self.marks.separated = True
        self._thoughts.append(text)
        self.gain(text)

    def count(self, usage: object) -> None:
        """Take counts of tokens; a later one holds."""
        if isinstance(usage, Mapping):
            counts = cast("Wire", usage)
            self.usage |= {name: count for name, count in counts.items() if count is not None}

    def add_call(self, call_id: str, name: str, arguments: object) -> DraftCall:
        """Take a call that is no other's continuation."""
        call = DraftCall(call_id, name)
        self.calls.append(call)
        self._by_id.setdefault(call_id, call)
        call.take(arguments)
        return call

    def continue_call(self, index: object, call_id: str, name: str, arguments: object) -> None:
        """Take a piece of a call, or a whole call."""
        call = self._continued(index, call_id, name)
        if call is None:
            call = self.add_call(call_id, name, arguments)
            if isinstance(index, int):
                self.open_calls[index] = call
            return
        if name and not call.arguments and name != call.name:
            call.name += name
        call.take(arguments)

    def _continued(self, index: object, call_id: str, name: str) -> DraftCall | None:
        """The call that this piece continues; None if it begins another."""
        if isinstance(index, int):
            call = self.open_calls.get(index)
        else:
            call = self.calls[-1] if self.calls else None
        if call is None or not name:
            # Some servers give each piece an id of its own, others all calls one index.
            return call and (self._by_id.get(call_id, call) if call_id else call)
        if call_id:
            return call if call_id == call.id else None
        # Without an id a name begins a call, unless it is the rest of a name.
        in_name = isinstance(index, int) and not call.arguments
        whole = call.name in self.names and call.name + name not in self.names
        return call if in_name and name != call.name and not whole else None

    def begin_again(self, most: int) -> bool:
        """Be ready for the answer's continuation, for so many times."""
        if len(self._spent) >= most:
            return False
        self._spent.append(self.usage)
        self.usage, self.finish, self.complete = {}, "", False
        self.blocks = {("before", place): each for place, each in enumerate(self.blocks.values())}
        self.open_calls.clear()
        return True

    def end(self) -> str:
        """Take no more; the text that may have been a mark."""
        cut = self.finishes.get(self.finish) == "length"
        rest = self.marks.end(cut=cut) if self.marks is not None else ""
        self._text.append(rest)
        return rest

    def result(self, prompt: Collection[str], completion: str) -> CreateResult:
        """The whole answer; the arguments name the fields of its usage.

        Raises ModelDisconnected for an answer without an end, BadAnswer for one that never began,
        CutAnswer for one that was cut before it said anything, and ModelRefused for one that was
        withheld.
        """
        self.end()
        text = "".join(self._text)
        self._check_end(text)
        self._check_content(text)
        thoughts = [
            self.marks.thought if self.marks is not None else "",
            "".join(self._thoughts).strip(),
            text if self.calls else "",
        ]
        kind = HostedResult if self.hosted else CreateResult
        result = kind(
            finish_reason=self._finish_reason(),
            content=[call.whole(self.names) for call in self.calls] or text or self.refusal,
            usage=sum(
                (reported_usage(each, prompt, completion) for each in self._spent),
                reported_usage(self.usage, prompt, completion),
            ),
            cached=False,
            logprobs=self.logprobs or None,
            thought="\n\n".join(filter(None, thoughts)) or None,
            **self.hosted,
        )
        if self.refusal or self.withheld:
            result.mark_refused()
        return result

    def _finish_reason(self) -> FinishReasons:
        reason = self.finishes.get(self.finish, "unknown")
        if reason in ("length", "content_filter"):
            return reason
        if self.calls:  # some servers end with "stop" after them
            return "function_calls"
        return "content_filter" if self.refusal else reason

    def _check_end(self, text: str) -> None:
        if not self.begun:
            raise BadAnswer("The answer is not what the API promises")
        if self.finish or (self.complete and (text or self.calls or self.refusal)):
            return
        if self.complete:
            raise BadAnswer("The answer is empty, and does not say why")
        raise ModelDisconnected("The answer ended before it was complete")

    def _check_content(self, text: str) -> None:
        said, finish = self.calls or text, self.finishes.get(self.finish)
        withheld = self.withheld or (FILTERED if finish == "content_filter" else "")
        if withheld and (self.structured or not (said or self.refusal)):
            raise ModelRefused(withheld)
        if self.refusal and self.structured and not said:
            raise ModelRefused(f"The model refused to answer: {self.refusal}")
        if finish == "length" and not said:
            raise CutAnswer(CUT)
