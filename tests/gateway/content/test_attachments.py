"""Files of messages: stored once, limited, shown to models as images only."""

import struct
import time
import zlib
from dataclasses import replace

import pytest

from gateway.access.authority import Access, Admission
from gateway.config.settings import Attachments
from gateway.content.attachments import with_allowed_awaited
from gateway.content.images import MOST_SEGMENTS, ImageHead, image_head
from gateway.conversation import Attachment, Author, AwaitedFile, ConversationKey, InboundMessage
from gateway.gateway import Gateway, Limits
from gateway.store.units import counts
from teams.messages import MultiModalMessage
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import rows_in
from tests.gateway.scripted import ScriptedTeams, ends, model, solo, until

ANN = Author(id="slack:T1:ANN", name="Ann")
MOST_PIXELS = 1_000_000
"""Pixels of an image that a test makes whole."""


def png(width: int = 3, height: int = 2) -> bytes:
    """A black picture; of a large one its first bytes alone."""
    head = b"IHDR" + struct.pack(">II", width, height) + b"\x08\x02\0\0\0"
    if width * height > MOST_PIXELS:
        return b"\x89PNG\r\n\x1a\n\0\0\0\r" + head
    rows = b"IDAT" + zlib.compress((b"\0" + b"\0\0\0" * width) * height)
    chunks = [
        struct.pack(">I", len(each) - 4) + each + struct.pack(">I", zlib.crc32(each))
        for each in (head, rows, b"IEND")
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def jpeg(width: int = 3, height: int = 2, before: bytes = b"") -> bytes:
    frame = b"\xff\xc0\0\x11\x08" + struct.pack(">HH", height, width) + b"\x03" + b"\0" * 9
    return b"\xff\xd8\xff\xe0\0\x04ab" + before + frame


def gif(width: int = 3, height: int = 2) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0"


def webp(kind: bytes, rest: bytes) -> bytes:
    return b"RIFF\0\0\0\0WEBP" + kind + rest


WEBPS = {
    "lossy": webp(b"VP8 ", b"\0" * 10 + struct.pack("<HH", 3, 2)),
    "lossless": webp(b"VP8L", b"\0" * 4 + b"\x2f" + struct.pack("<I", (3 - 1) | (2 - 1) << 14)),
    "extended": webp(b"VP8X", b"\0" * 8 + b"\x02\0\0\x01\0\0"),
}


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        pytest.param(png()[:33], "png", id="png"),
        pytest.param(gif(), "gif", id="gif"),
        pytest.param(jpeg(), "jpeg", id="jpeg"),
        pytest.param(jpeg(before=b"\xff\xff\xff\xe1\0\x02\xff\xc4\0\x02"), "jpeg", id="full jpeg"),
        *[pytest.param(data, "webp", id=f"{name} webp") for name, data in WEBPS.items()],
    ],
)
def test_an_image_is_known_by_its_contents(data, kind):
    assert image_head(data) == ImageHead(media_type=f"image/{kind}", width=3, height=2)
    for length in range(len(data) - 16):
        assert image_head(data[:length]) is None


@pytest.mark.parametrize(
    "data",
    [b"", b"hello", b"\xff\xd8\xff", png(0, 5), jpeg(0), webp(b"ICCP", b"\0" * 20)],
    ids=["nothing", "text", "begun", "no width", "no width either", "no frame"],
)
def test_what_is_no_image_is_none(data):
    assert image_head(data) is None


def test_an_image_that_never_comes_to_its_size_costs_little_to_find_out():
    endless = b"\xff\xd8" + b"\xff\xe0\0\x02" * 5_000_000
    begun = time.perf_counter()
    assert image_head(endless) is None
    assert image_head(b"\xff\xd8" + b"\xff" * 5_000_000) is None
    assert time.perf_counter() - begun < MOST_SEGMENTS * 1e-4


class Everybody(Access):
    def judge(self, message):
        return Admission()


def message(*files: Attachment, root: str = "1", text: str = "look", **more) -> InboundMessage:
    key = ConversationKey(platform="slack", workspace="T1", channel="C", root=root)
    return InboundMessage(key=key, author=ANN, text=text, attachments=files, **more)


def file(
    data: bytes = b"data", name: str = "a.bin", media_type: str = "application/y", **more
) -> Attachment:
    return Attachment(name=name, media_type=media_type, data=data, **more)


def opened(folder, teams=None, **limits) -> Gateway:
    teams = teams or ScriptedTeams(lambda: solo(*["fine"] * 50))
    return Gateway(
        new_store(folder),
        teams,
        access=Everybody(),
        limits=Limits(attachments=Attachments(**limits)),
    )


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([file(b"x" * 2_000_001)], "a.bin has 2.0 MB; a file may have 2 MB."),
        ([file(b"", left_out=30_000_000)], "a.bin has 30.0 MB; a file may have 2 MB."),
        (
            [file(b"x" * 1_600_000), file(b"y" * 1_600_000)],
            "its files have 3.2 MB in total; a message may have 3 MB.",
        ),
        (
            [file(media_type="text/html")],
            "a.bin is of the type text/html, which is not allowed here",
        ),
        (
            [file(b"<svg/>", "a.svg", "image/svg+xml")],
            "a.svg is not an image that models accept (PNG, JPEG, GIF or WebP).",
        ),
        (
            [file(png(20_000, 20_000), "a.png", "image/png")],
            "a.png has 20,000 by 20,000 pixels; an image may have 10 megapixels.",
        ),
        (
            # Its name and type say nothing of what it is.
            [file(png(20_000, 20_000), "a.bin")],
            "a.bin has 20,000 by 20,000 pixels; an image may have 10 megapixels.",
        ),
    ],
    ids=["large", "not fetched", "together", "type", "no image", "pixels", "disguised"],
)
async def test_a_message_with_a_file_that_is_not_taken_is_refused_and_says_why(
    tmp_path, files, said
):
    limits = {
        "file_mb": 2,
        "message_mb": 3,
        "image_megapixels": 10,
        "types": ["image/*", "application/*"],
    }
    async with opened(tmp_path, **limits) as gateway:
        for _ in range(2):  # each time
            receipt = await gateway.accept(message(*files))
            assert receipt.outcome == "refused"
            assert receipt.reply.startswith(f"Your message was not accepted: {said}")
        assert (await gateway.store.run(counts.counts)).refused == {"files": 2}
        assert (await gateway.accept(message(file()))).outcome == "turn"


def test_of_files_that_are_too_much_together_the_last_ones_are_left():
    files = tuple(AwaitedFile(name=f"{n}.txt", media_type="text/plain", size=n) for n in (4, 5, 1))
    limits = Attachments(file_mb=1, message_mb=0.000006)
    found = with_allowed_awaited(replace(message(), awaited=files), limits)
    assert [each.name for each in found.awaited] == ["4.txt", "1.txt"]
    (left,) = found.missing
    assert (left.name, left.why.startswith("its files have")) == ("5.txt", True)


async def test_a_thread_has_so_many_files_and_not_more_until_some_are_gone(tmp_path):
    async with opened(tmp_path, thread_mb=1) as gateway:
        first = await gateway.accept(message(file(b"x" * 600_000)))
        await until(gateway, first.thread, ends)
        refused = await gateway.accept(message(file(b"y" * 600_000)))
        assert "the thread would have 1.2 MB; a thread may have 1 MB. /new" in refused.reply
        assert (await gateway.accept(message(file(b"y" * 600_000), root="2"))).outcome == "turn"
        await gateway.accept(message(text="/new"))
        assert (await gateway.accept(message(file(b"y" * 600_000)))).outcome == "turn"


async def test_a_command_is_a_command_whatever_comes_with_it(tmp_path):
    async with opened(tmp_path, file_mb=0.000001) as gateway:
        assert (await gateway.accept(message(file(), text="/status"))).outcome == "command"


async def test_the_same_contents_are_stored_once_and_go_with_the_last_message(tmp_path):
    data = b"the same contents" * 50_000
    async with opened(tmp_path) as gateway:
        threads = []
        for number in range(4):
            receipt = await gateway.accept(
                message(file(data, f"{number}.bin"), file(data), root=str(number))
            )
            await until(gateway, receipt.thread, ends)
            threads.append(receipt.thread)
        assert rows_in(tmp_path, "SELECT COUNT(*) FROM blobs") == [(1,)]
        assert rows_in(tmp_path, "SELECT COUNT(*), SUM(size) FROM attachments") == [
            (8, 8 * len(data))
        ]
        assert rows_in(tmp_path, "SELECT data FROM blobs") == [(data,)]
        for thread in threads[:-1]:
            await gateway.client.delete_thread(thread)
            assert rows_in(tmp_path, "SELECT COUNT(*) FROM blobs") == [(1,)]
        await gateway.client.delete_thread(threads[-1])
        assert rows_in(tmp_path, "SELECT COUNT(*) FROM blobs") == [(0,)]
    left = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"the same contents" not in left


@pytest.mark.sqlite
async def test_a_file_that_is_sent_again_costs_no_second_copy_on_the_disk(tmp_path):
    data = bytes(range(256)) * 8_000
    async with opened(tmp_path) as gateway:
        for number in range(10):
            await gateway.accept(message(file(data), root=str(number)))
    assert (tmp_path / "parley.db").stat().st_size < 2 * len(data)


async def test_a_model_is_shown_images_by_their_contents(tmp_path):
    client = model("seen")
    teams = ScriptedTeams(lambda: solo(client))
    async with opened(tmp_path, teams) as gateway:
        receipt = await gateway.accept(message(file(png(), "photo", "application/octet-stream")))
        await until(gateway, receipt.thread, ends)
    (said,) = [m for m in client.create_calls[0]["messages"] if m.type == "UserMessage"]
    assert [getattr(part, "mime_type", "") for part in said.content][-1] == "image/png"
    assert MultiModalMessage(source="user", content=said.content).content


@pytest.mark.parametrize("kind", ["text/plain", "application/json"])
async def test_an_empty_text_file_holds_nothing_up(tmp_path, kind: str):
    """SQLite has NULL for a part of an empty blob."""
    client = model("seen")
    teams = ScriptedTeams(lambda: solo(client))
    async with opened(tmp_path, teams) as gateway:
        receipt = await gateway.accept(message(file(b"", "empty.txt", kind)))
        await until(gateway, receipt.thread, ends)
    (said,) = [m for m in client.create_calls[0]["messages"] if m.type == "UserMessage"]
    assert "empty.txt" in str(said.content)
