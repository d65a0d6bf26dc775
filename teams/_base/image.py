"""An image in a message: kept encoded, decoded only when needed."""

from __future__ import annotations

import base64
import binascii
import importlib
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic_core import core_schema

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler

PillowImage = Any
"""A `PIL.Image.Image`; Pillow is optional, and so are its types."""

_DATA_URI = re.compile(r"data:image/[\w.+-]+;base64,(?P<data>.*)", re.DOTALL)

_READABLE = ("AVIF", "BMP", "GIF", "ICO", "JPEG", "JPEG2000", "PNG", "PPM", "TGA", "TIFF", "WEBP")
"""Formats that are pixels. Pillow has EPS, which is code, run by Ghostscript."""

_PNG_MODES = frozenset({"1", "I", "I;16", "L", "LA", "P", "RGB", "RGBA"})
"""Pillow's modes of pixels that PNG knows; others become RGB."""


class Image:
    """An immutable image, from Pillow or from encoded bytes.

    Pillow is not needed for encoded bytes. PNG, JPEG, GIF and WebP are kept as they are; other
    formats become PNG, which needs Pillow. An image of Pillow is copied, and encoded when its bytes
    are first needed. In pydantic models it dumps to and loads from `{"data":
    <base64>}`.
    """

    __slots__ = ("_base64", "_pillow", "mime_type")

    def __init__(self, image: PillowImage) -> None:
        # Pillow reads a file when it is first asked, and changes images in place.
        self._pillow: PillowImage | None = image.copy()
        self._base64: str | None = None
        self.mime_type = "image/png"

    @classmethod
    def from_pil(cls, pil_image: PillowImage) -> Image:
        """The image as PNG."""
        return cls(pil_image)

    @classmethod
    def from_bytes(cls, data: bytes) -> Image:
        """An encoded image, e.g. a file's content; ValueError when it is none."""
        mime_type = _mime_type_of(data)
        if mime_type is None:
            return cls(_decode(data))
        image = cls.__new__(cls)
        image._base64 = base64.b64encode(data).decode("ascii")
        image._pillow = None
        image.mime_type = mime_type
        return image

    @classmethod
    def from_base64(cls, base64_str: str) -> Image:
        """An encoded image in base64; ValueError when it is none."""
        try:
            data = base64.b64decode(base64_str, validate=True)
        except binascii.Error as error:
            raise ValueError(f"Not an image in base64: {error}") from error
        return cls.from_bytes(data)

    @classmethod
    def from_uri(cls, uri: str) -> Image:
        """The image of a `data:image/...;base64,` URI; nothing is downloaded."""
        match = _DATA_URI.fullmatch(uri)
        if match is None:
            raise ValueError("Expected a URI of the form data:image/TYPE;base64,DATA.")
        return cls.from_base64(match["data"])

    @classmethod
    def from_file(cls, file_path: str | Path) -> Image:
        """The image in a file."""
        return cls.from_bytes(Path(file_path).read_bytes())

    @property
    def image(self) -> PillowImage:
        """A copy of the decoded image; needs Pillow."""
        if self._pillow is not None:
            return self._pillow.copy()
        return _decode(base64.b64decode(self.to_base64()))

    @property
    def data_uri(self) -> str:
        """The image as a `data:` URI."""
        return f"data:{self.mime_type};base64,{self.to_base64()}"

    def to_base64(self) -> str:
        """The encoded image in base64."""
        if self._base64 is None:
            self._base64, self._pillow = _encode(self._pillow), None
        return self._base64

    def to_openai_format(self, detail: Literal["auto", "low", "high"] = "auto") -> dict[str, Any]:
        """The image as a content part of OpenAI's chat API."""
        return {"type": "image_url", "image_url": {"url": self.data_uri, "detail": detail}}

    def _repr_html_(self) -> str:
        return f'<img src="{self.data_uri}"/>'

    def __repr__(self) -> str:
        return f"<Image {self.mime_type}, {len(self.to_base64()) * 3 // 4} bytes>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Image) and self.to_base64() == other.to_base64()

    def __hash__(self) -> int:
        return hash(self.to_base64())

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source_type: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            _validate,
            serialization=core_schema.plain_serializer_function_ser_schema(_serialise),
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {}


def _validate(value: Any) -> Image:
    match value:
        case Image():
            return value
        case {"data": str() as data}:
            return Image.from_base64(data)
        case _:
            raise ValueError('Expected an Image or {"data": <base64>}.')


def _serialise(image: Image) -> dict[str, str]:
    return {"data": image.to_base64()}


def _mime_type_of(data: bytes) -> str | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def _encode(image: PillowImage) -> str:
    if image.mode not in _PNG_MODES:
        image = image.convert("RGB")
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def _decode(data: bytes) -> PillowImage:
    try:
        pillow = importlib.import_module("PIL.Image")
    except ModuleNotFoundError as error:
        raise ValueError(
            "Not a PNG, JPEG, GIF or WebP image; other formats need Pillow (pip install pillow)."
        ) from error
    try:
        image = pillow.open(io.BytesIO(data), formats=_READABLE)
        image.load()
    except Exception as error:  # each of its readers has its own, for damage and for size
        raise ValueError("Not an image in a known format.") from error
    return image
