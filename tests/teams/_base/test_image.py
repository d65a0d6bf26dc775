"""Images in messages."""

import base64
import os
import sys
import types
from pathlib import Path

import pytest

from teams.core import Image
from teams.models import UserMessage

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)


@pytest.mark.parametrize(
    ("data", "mime_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0 and so on", "image/jpeg"),
        (b"GIF89a and so on", "image/gif"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "image/webp"),
    ],
    ids=["png", "jpeg", "gif", "webp"],
)
def test_what_models_take_is_kept_as_it_is(data: bytes, mime_type: str, tmp_path: Path):
    encoded = base64.b64encode(data).decode()
    (tmp_path / "picture").write_bytes(data)
    for image in (
        Image.from_bytes(data),
        Image.from_base64(encoded),
        Image.from_uri(f"data:{mime_type};base64,{encoded}"),
        Image.from_file(tmp_path / "picture"),
    ):
        assert image.data_uri == f"data:{mime_type};base64,{encoded}"
        assert image == Image.from_base64(encoded)


def test_openai_is_given_a_data_uri_and_the_detail():
    image = Image.from_bytes(PNG)
    assert image.to_openai_format("low") == {
        "type": "image_url",
        "image_url": {"url": image.data_uri, "detail": "low"},
    }
    assert image.to_openai_format()["image_url"]["detail"] == "auto"


def test_an_image_survives_json_and_its_repr_is_short():
    image = Image.from_bytes(PNG)
    message = UserMessage(content=["look", image], source="user")
    dumped = message.model_dump(mode="json")
    assert dumped["content"] == ["look", {"data": image.to_base64()}]
    assert UserMessage.model_validate_json(message.model_dump_json()) == message
    assert len(repr(image)) < 40
    assert {image, Image.from_bytes(PNG)} == {image}


@pytest.mark.parametrize(
    "make",
    [
        lambda: Image.from_base64("no base64!"),
        lambda: Image.from_uri("https://example.org/picture.png"),
        lambda: Image.from_uri("data:text/plain;base64,AAAA"),
        lambda: UserMessage.model_validate({"content": [{"data": 3}], "source": "user"}),
    ],
    ids=["not base64", "address", "text", "json"],
)
def test_what_is_no_image_is_refused(make):
    with pytest.raises(ValueError, match=r"image|Image"):
        make()


class Pillow(types.ModuleType):
    """A stand-in for PIL.Image that knows bitmaps only."""

    def open(self, file, formats):
        assert "EPS" not in formats
        if not file.read().startswith(b"BM"):
            raise OSError("cannot identify image file")
        return PillowImage()


class PillowImage:
    """A stand-in for an image of Pillow, with what was done."""

    def __init__(self, mode="RGB", done=None):
        self.mode = mode
        self.done = [] if done is None else done

    def load(self):
        self.done.append("load")

    def copy(self):
        self.done.append("copy")
        return PillowImage(self.mode, self.done)

    def convert(self, mode):
        self.done.append(f"convert to {mode}")
        return PillowImage(mode, self.done)

    def save(self, buffer, format):
        assert (format, self.mode) in {("PNG", "RGB"), ("PNG", "RGBA")}
        self.done.append("encode")
        buffer.write(PNG)


@pytest.fixture
def pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have Pillow, installed or not."""
    monkeypatch.setitem(sys.modules, "PIL", types.ModuleType("PIL"))
    monkeypatch.setitem(sys.modules, "PIL.Image", Pillow("PIL.Image"))


def test_a_pillow_image_becomes_png():
    assert Image(PillowImage()) == Image.from_pil(PillowImage()) == Image.from_bytes(PNG)


def test_a_pillow_image_is_copied_at_once_and_encoded_once_when_its_bytes_are_needed():
    original = PillowImage("RGBA")
    image = Image(original)
    assert original.done == ["copy"]
    assert isinstance(image.image, PillowImage)
    assert original.done == ["copy", "copy"]
    assert image.data_uri == image.data_uri == Image.from_bytes(PNG).data_uri
    assert original.done == ["copy", "copy", "encode"]


def test_a_pillow_image_in_colours_that_png_does_not_know_becomes_rgb():
    original = PillowImage("CMYK")
    assert Image(original) == Image.from_bytes(PNG)
    assert original.done == ["copy", "convert to RGB", "encode"]


@pytest.mark.usefixtures("pillow")
def test_other_formats_become_png():
    assert Image.from_bytes(b"BM and so on") == Image.from_bytes(PNG)
    with pytest.raises(ValueError, match="known format"):
        Image.from_bytes(b"plain text")


@pytest.mark.usefixtures("pillow")
def test_an_image_is_decoded_when_somebody_asks():
    with pytest.raises(ValueError, match="known format"):
        _ = Image.from_bytes(PNG).image


def test_without_pillow_other_formats_say_what_to_install(monkeypatch: pytest.MonkeyPatch):
    for module in ("PIL", "PIL.Image"):  # a test before this one may have imported it
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ValueError, match="pip install pillow"):
        Image.from_bytes(b"BM and so on")


def test_a_notebook_shows_the_image():
    image = Image.from_bytes(PNG)
    assert image._repr_html_() == f'<img src="{image.data_uri}"/>'


EPS = b"""%!PS-Adobe-3.0 EPSF-3.0
%%BoundingBox: 0 0 1 1
%%EndComments
(PWNED) (w) file closefile
%%EOF
"""


@pytest.mark.parametrize(
    "data",
    [EPS, b"\xc5\xd0\xd3\xc6" + EPS, b"P6 99999 99999 255\n", b"BM" + b"\xff" * 60, b"II*\0" * 9],
    ids=["eps", "eps in windows", "bomb", "bmp", "tiff"],
)
def test_an_image_runs_no_program_and_damage_is_a_value_error(
    data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("PIL")
    for name in ("gs", "gswin32c", "gswin64c"):  # as Pillow looks for Ghostscript
        (tmp_path / name).write_text(f"#!/bin/sh\necho 10; touch {tmp_path}/PWNED\n")
        (tmp_path / name).chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("PIL.EpsImagePlugin.gs_binary", None)
    with pytest.raises(ValueError, match="known format"):
        Image.from_bytes(data)
    assert not (tmp_path / "PWNED").exists()
