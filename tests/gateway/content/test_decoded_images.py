"""Images are decoded within limits, or named with the reason why not."""

import io
import struct
import zlib
from typing import Any

import pytest
from PIL import Image

from gateway.config.settings import Attachments
from gateway.content import documents
from gateway.content.documents import MORE_PIXELS, Documents
from gateway.conversation import Attachment, MissingFile
from tests.gateway.content.test_attachments import jpeg, png

pytestmark = pytest.mark.timeout(60)

BROKEN, TOO_LARGE = "it is broken", "it is too large when it is unpacked"


def image(kind: str, mode: str = "RGB", **how: Any) -> bytes:
    packed = io.BytesIO()
    noise = Image.effect_noise((90, 80), 50).convert(mode)
    noise.save(packed, kind, **how)
    return packed.getvalue()


WHOLE = {
    "png": lambda: image("PNG"),
    "interlaced": lambda: image("PNG", "RGBA", interlace=1),
    "sixteen bits": lambda: image("PNG", "I;16"),
    "jpeg": lambda: image("JPEG"),
    "progressive": lambda: image("JPEG", progressive=True),
    "ink": lambda: image("JPEG", "CMYK"),
    "gif": lambda: image("GIF", "P"),
    "moving": lambda: image("GIF", "P", save_all=True, append_images=[Image.new("P", (90, 80))]),
    "webp": lambda: image("WEBP"),
    "lossless": lambda: image("WEBP", "RGBA", lossless=True),
}


def sent(data: bytes) -> Attachment:
    return Attachment(name="a", media_type="image/png", data=data)


async def refusal(data: bytes, limits: Attachments | None = None) -> str:
    """The reason why a team is not shown the image, or ""."""
    file = sent(data)
    taken, missing = await Documents().as_text([file], limits or Attachments())
    assert [*taken, *missing] == ([file] if taken else [MissingFile(name="a", why=missing[0].why)])
    return missing[0].why if missing else ""


@pytest.mark.parametrize("kind", WHOLE)
async def test_a_whole_image_stays_as_it_is_and_half_of_one_is_broken(kind: str):
    data = WHOLE[kind]()
    assert await refusal(data) == ""
    assert await refusal(data[: len(data) // 2]) == BROKEN


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


async def test_an_image_that_unpacks_to_more_than_memory_is_too_large():
    limits = Attachments(image_megapixels=10_000)
    head = struct.pack(">II", 40_000, 40_000) + b"\x08\x02\0\0\0"
    rows = zlib.compress(b"\0" * 1_000_000)
    bomb = png()[:8] + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    assert await refusal(bomb, limits) == TOO_LARGE


async def test_an_image_of_more_pixels_than_its_first_bytes_say_is_refused():
    data = image("GIF", "P")
    small = data[:6] + struct.pack("<HH", 1, 1) + data[10:]
    assert await refusal(small) == ""
    assert await refusal(small, Attachments(image_megapixels=0.001)) == MORE_PIXELS


@pytest.mark.parametrize(
    "data",
    [png()[:33], png().replace(b"IDAT", b"IDAX"), b"GIF89a\1\0\1\0\0\0\0;", jpeg()],
    ids=["head alone", "no pixels", "no frame", "no scan"],
)
async def test_what_only_begins_like_an_image_is_broken(data: bytes):
    assert await refusal(data) == BROKEN


async def test_a_forbidden_image_is_left_to_the_limits():
    data = png(20_000, 20_000)
    assert await Documents().as_text([sent(data)], Attachments()) == ([sent(data)], [])


async def test_without_pillow_an_image_is_shown_as_it_is_and_nobody_is_told(monkeypatch, caplog):
    monkeypatch.setattr(documents, "can_read_documents", lambda kind: kind == "pdf")
    half = png()[:40]
    assert await Documents().as_text([sent(half)], Attachments()) == ([sent(half)], [])
    assert not caplog.text
