"""Workbenches: tools that share state and resources, and their results."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterable, Mapping
from itertools import islice
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field

from teams._base.cancellation import CancellationToken
from teams._base.image import Image
from teams._components.component import ComponentBase
from teams._tools.base import NO_TRAITS, ToolTraits
from teams._tools.schema import ToolSchema

MOST_PICTURES = 4
LARGEST_PICTURE = 2_000_000
"""Images of a result that a model sees, and the bytes of each."""


class TextResultContent(BaseModel, defer_build=True):
    """Text of a result."""

    type: Literal["TextResultContent"] = "TextResultContent"
    content: str


class ImageResultContent(BaseModel, defer_build=True):
    """An image of a result."""

    type: Literal["ImageResultContent"] = "ImageResultContent"
    content: Image


ResultContent = Annotated[TextResultContent | ImageResultContent, Field(discriminator="type")]


class ToolResult(BaseModel, defer_build=True):
    """The result of a call."""

    type: Literal["ToolResult"] = "ToolResult"
    name: str
    result: list[ResultContent]
    is_error: bool = False

    def pictures(self) -> list[Image]:
        """Its images, few and small enough for a model."""
        images = [part.content for part in self.result if isinstance(part, ImageResultContent)]
        small = (each for each in images if len(each.to_base64()) * 3 / 4 <= LARGEST_PICTURE)
        return list(islice(small, MOST_PICTURES))

    def to_text(self, replace_image: str = "[image]") -> str:
        """The result as text, a line per part; each image as `replace_image`."""
        return "\n".join(
            part.content if isinstance(part, TextResultContent) else replace_image
            for part in self.result
        )


def text_result(
    name: str, text: str, *, images: Iterable[Image] = (), is_error: bool = False
) -> ToolResult:
    """A result that is one text, perhaps with images."""
    shown = [ImageResultContent(content=image) for image in images]
    parts = [TextResultContent(content=text), *shown]
    return ToolResult(name=name, result=parts, is_error=is_error)


class ToolOverride(BaseModel, defer_build=True):
    """Another name or description for a tool of a workbench."""

    name: str | None = None
    description: str | None = None


class Workbench(ComponentBase[BaseModel], ABC):
    """Tools that share state and resources; the list may change over time."""

    component_type = "workbench"

    @abstractmethod
    async def list_tools(self) -> list[ToolSchema]:
        """The tools there are now."""

    @abstractmethod
    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
        call_id: str | None = None,
    ) -> ToolResult:
        """Call a tool; every failure becomes a result with `is_error`."""

    def tool_traits(self, name: str) -> ToolTraits:
        """The tool's promises; nothing, unless a subclass knows better."""
        return NO_TRAITS

    @abstractmethod
    async def start(self) -> None:
        """Acquire the resources."""

    @abstractmethod
    async def stop(self) -> None:
        """Release the resources."""

    @abstractmethod
    async def reset(self) -> None:
        """Go back to the state after the start."""

    @abstractmethod
    async def save_state(self) -> Mapping[str, Any]:
        """The state, as JSON data."""

    @abstractmethod
    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Take over a saved state. Raises ValueError if it does not fit."""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()


class StreamWorkbench(Workbench, ABC):
    """A workbench whose tools say something while they run."""

    @abstractmethod
    def call_tool_stream(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
        call_id: str | None = None,
    ) -> AsyncGenerator[Any, None]:
        """Call a tool; the last item is its ToolResult."""
