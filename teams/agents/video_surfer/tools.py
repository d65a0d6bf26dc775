"""Tools of a VideoSurfer: frames, length, sound and words of a video.

Paths are of the working folder and lead out of it neither by `..` nor by a link; there are no URLs.
"""

from __future__ import annotations

import io
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

from teams._base.extras import require_packages
from teams._base.image import Image
from teams._base.safe_files import open_file, write_file
from teams._base.threads import in_daemon_thread
from teams.models._client import ChatCompletionClient
from teams.models._types import UserMessage

_QUESTION = "Describe this picture of a video: what it shows, and each text in it, word by word."


def require_video() -> None:
    """Raise ImportError where a package is missing."""
    require_packages("Reading videos needs", "video-surfer", "av", "cv2", "faster_whisper")


def get_video_length(video_path: str) -> str:
    """Tell how many seconds a video takes."""
    with _opened(video_path) as video:
        return f"The video takes {(video.duration or 0) / 1_000_000:.2f} seconds."


def get_screenshot_at(video_path: str, timestamps: Sequence[float]) -> list[tuple[float, Any]]:
    """The frames at these seconds, as arrays of blue, green, red."""
    with _opened(video_path, "video") as video:
        return [(second, _frame(video, second)) for second in timestamps]


def save_screenshot(video_path: str, timestamp: float, output_path: str) -> str:
    """Save the frame at this second as a picture (.png, .jpg)."""
    if not output_path.lower().endswith((".png", ".jpg")):
        raise ValueError("Expected a path that ends with .png or .jpg.")
    write_file(Path.cwd(), output_path, _picture(video_path, timestamp, output_path[-4:]))
    return f"The picture is saved to {output_path}."


def extract_audio(video_path: str, audio_output_path: str) -> str:
    """Save the sound of a video as an .mp3 file."""
    if not audio_output_path.lower().endswith(".mp3"):
        raise ValueError("Expected a path that ends with .mp3.")
    sound = io.BytesIO()
    with _opened(video_path, "audio") as video:
        import av  # an optional package, and slow to import

        with av.open(sound, "w", format="mp3") as output:
            stream = output.add_stream("mp3", rate=44100)
            for frame in (*video.decode(audio=0), None):  # None: the coder's rest
                output.mux(stream.encode(frame))
    write_file(Path.cwd(), audio_output_path, sound.getvalue())
    return f"The sound is saved to {audio_output_path}."


def transcribe_audio_with_timestamps(audio_path: str) -> str:
    """Write down the words of a sound or video, with seconds."""
    with _opened(audio_path, "audio") as sound:
        pieces, _ = _speech_model().transcribe(_waves(sound))
    lines = [f"[{each.start:.2f}-{each.end:.2f}] {each.text.strip()}" for each in pieces]
    return "\n".join(lines) or "No words were heard."


async def transcribe_video_screenshot(
    video_path: str, timestamp: float, model_client: ChatCompletionClient
) -> str:
    """Describe the frame at this second of a video."""
    if not model_client.model_info["vision"]:
        raise ValueError("The model can't see pictures.")
    read = partial(_picture, video_path, timestamp, ".jpg")
    picture = Image.from_bytes(await in_daemon_thread(read, name="picture of a video"))
    answer = await model_client.create([UserMessage(content=[_QUESTION, picture], source="user")])
    return str(answer.content)


@contextmanager
def _opened(path: str, kind: str = "") -> Generator[Any]:
    """A video that has streams of this kind."""
    require_video()
    import av

    # Without protocols, a playlist can't open further files.
    options = {"protocol_whitelist": "none"}
    with open_file(Path.cwd(), path) as file, av.open(file, options=options) as video:
        if kind and not getattr(video.streams, kind):
            raise ValueError(f"{path!r} has no {kind}.")
        yield video


def _frame(video: Any, second: float) -> Any:
    """The first frame at this second or later."""
    video.seek(max(0, int(second * 1_000_000)))
    for frame in video.decode(video=0):
        if frame.time is None or frame.time >= second - 0.001:
            return frame.to_ndarray(format="bgr24")
    raise ValueError(f"The video has no frame at {second} seconds.")


def _waves(sound: Any) -> Any:
    """The sound as the speech model takes it: 16,000 numbers a second."""
    import av
    import numpy

    mono = av.AudioResampler(format="flt", layout="mono", rate=16000)
    frames = (*sound.decode(audio=0), None)  # None: the resampler's rest
    pieces = [piece.to_ndarray()[0] for frame in frames for piece in mono.resample(frame)]
    return numpy.concatenate(pieces) if pieces else numpy.zeros(0, dtype=numpy.float32)


def _picture(path: str, second: float, suffix: str) -> bytes:
    import cv2

    [(_, frame)] = get_screenshot_at(path, [second])
    return cv2.imencode(suffix, frame)[1].tobytes()


@cache
def _speech_model() -> Any:
    """The model that hears; its weights are downloaded when first needed."""
    from faster_whisper import WhisperModel

    return WhisperModel("base")


TOOLS = (get_video_length, save_screenshot, extract_audio, transcribe_audio_with_timestamps)
