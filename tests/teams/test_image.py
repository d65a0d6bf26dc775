"""Images in messages."""

import base64
import importlib.util
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


def test_a_pillow_image_becomes_png():
    class PillowImage:
        def save(self, buffer, format):
            assert format == "PNG"
            buffer.write(PNG)

    assert Image(PillowImage()) == Image.from_pil(PillowImage()) == Image.from_bytes(PNG)


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
        lambda: Image.from_bytes(b"plain text"),
        lambda: UserMessage.model_validate({"content": [{"data": 3}], "source": "user"}),
    ],
    ids=["not base64", "address", "text", "bytes", "json"],
)
def test_what_is_no_image_is_refused(make):
    with pytest.raises(ValueError, match=r"image|Image"):
        make()


@pytest.mark.skipif(importlib.util.find_spec("PIL") is not None, reason="Pillow is installed")
def test_decoding_without_pillow_says_what_to_install():
    with pytest.raises(ValueError, match="pip install pillow"):
        _ = Image.from_bytes(b"BM and so on")


@pytest.mark.skipif(importlib.util.find_spec("PIL") is None, reason="needs Pillow")
def test_other_formats_become_png(tmp_path: Path):
    pillow = importlib.import_module("PIL.Image")
    pillow.new("RGB", (2, 3)).save(tmp_path / "picture.bmp")
    image = Image.from_file(tmp_path / "picture.bmp")
    assert image.mime_type == "image/png"
    assert image.image.size == (2, 3)
