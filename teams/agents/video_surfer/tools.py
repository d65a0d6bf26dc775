"""Tools of a VideoSurfer: frames, length, sound and words of a video.

Paths are of their folder and lead out of it neither by `..` nor by a link; there are no URLs.
"""

from __future__ import annotations

import io
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from teams._base.extras import require_packages
from teams._base.image import Image
from teams._base.safe_files import UnsafePathError, folder_size, open_file, write_file
from teams._base.workers import in_daemon_worker
from teams._tools.base import ToolTraits
from teams._tools.function import FunctionTool
from teams.models._client import ChatCompletionClient
from teams.models._types import UserMessage

READS = ToolTraits(read_only=True, idempotent=True)
"""Traits of a tool that only looks and listens."""
_LONGEST = 7200
"""Seconds of a sound whose words are written down."""
_MOST_ENTRIES = 10_000
"""Files of a folder that are counted at most."""
_QUESTION = "Describe this picture of a video: what it shows, and each text in it, word by word."


def require_video() -> None:
    """Raise ImportError where a package is missing."""
    require_packages("Reading videos needs", "video-surfer", "av", "cv2", "faster_whisper")


class VideoFiles:
    """Videos of a folder, and pictures and sounds made of them.

    Args:
        folder: of the videos; by default the working folder.
        saves: folder of what is saved, which is looked into first; by default the same.
        most_mb: megabytes that this folder may hold; by default any.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        saves: Path | None = None,
        most_mb: float | None = None,
    ) -> None:
        self._folder, self._saves, self._most_mb = folder, saves, most_mb

    def get_video_length(self, video_path: str) -> str:
        """Tell how many seconds a video takes."""
        with self._opened(video_path) as video:
            return f"The video takes {(video.duration or 0) / 1_000_000:.2f} seconds."

    def get_screenshot_at(
        self, video_path: str, timestamps: Sequence[float]
    ) -> list[tuple[float, Any]]:
        """The frames at these seconds, as arrays of blue, green, red."""
        with self._opened(video_path, "video") as video:
            return [(second, _frame(video, second)) for second in timestamps]

    def save_screenshot(self, video_path: str, timestamp: float, output_path: str) -> str:
        """Save the frame at this second as a picture (.png, .jpg)."""
        if not output_path.lower().endswith((".png", ".jpg")):
            raise ValueError("Expected a path that ends with .png or .jpg.")
        self._save(output_path, self._picture(video_path, timestamp, output_path[-4:]))
        return f"The picture is saved to {output_path}."

    def extract_audio(self, video_path: str, audio_output_path: str) -> str:
        """Save the sound of a video as an .mp3 file."""
        if not audio_output_path.lower().endswith(".mp3"):
            raise ValueError("Expected a path that ends with .mp3.")
        sound = io.BytesIO()
        with self._opened(video_path, "audio") as video:
            import av  # an optional package, and slow to import

            with av.open(sound, "w", format="mp3") as output:
                stream = output.add_stream("mp3", rate=44100)
                for frame in (*video.decode(audio=0), None):  # None: the coder's rest
                    output.mux(stream.encode(frame))
        self._save(audio_output_path, sound.getvalue())
        return f"The sound is saved to {audio_output_path}."

    def transcribe_audio_with_timestamps(self, audio_path: str) -> str:
        """Write down the words of a sound or video, with seconds."""
        with self._opened(audio_path, "audio") as sound:
            pieces, _ = _speech_model().transcribe(_waves(sound))
        lines = [f"[{each.start:.2f}-{each.end:.2f}] {each.text.strip()}" for each in pieces]
        return "\n".join(lines) or "No words were heard."

    async def transcribe_video_screenshot(
        self, video_path: str, timestamp: float, model_client: ChatCompletionClient
    ) -> str:
        """Describe the frame at this second of a video."""
        if not model_client.model_info["vision"]:
            raise ValueError("The model can't see pictures.")
        read = partial(self._picture, video_path, timestamp, ".jpg")
        picture = Image.from_bytes(await in_daemon_worker(read, name="picture of a video"))
        asked = UserMessage(content=[_QUESTION, picture], source="user")
        return str((await model_client.create([asked])).content)

    def tools(self) -> Sequence[FunctionTool]:
        """The tools that need no model."""
        reading = (self.get_video_length, self.transcribe_audio_with_timestamps)
        saving = (self.save_screenshot, self.extract_audio)
        return [
            *(FunctionTool(each, traits=READS) for each in reading),
            *(FunctionTool(each, traits=ToolTraits(idempotent=True)) for each in saving),
        ]

    @contextmanager
    def _opened(self, path: str, kind: str = "") -> Generator[Any]:
        """A video that has streams of this kind."""
        require_video()
        import av

        # Without protocols, a playlist can't open further files.
        options = {"protocol_whitelist": "none"}
        with self._file(path) as file, av.open(file, options=options) as video:
            if kind and not getattr(video.streams, kind):
                raise ValueError(f"{path!r} has no {kind}.")
            yield video

    @contextmanager
    def _file(self, path: str) -> Generator[BinaryIO]:
        with ExitStack() as stack:
            file: BinaryIO | None = None
            if self._saves is not None:
                with suppress(FileNotFoundError, UnsafePathError):
                    file = stack.enter_context(open_file(self._saves, path))
            yield file or stack.enter_context(open_file(self._folder or Path.cwd(), path))

    def _save(self, path: str, data: bytes) -> None:
        folder = self._saves or self._folder or Path.cwd()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._most_mb is not None:
            size = folder_size(folder, most=_MOST_ENTRIES) + len(data)
            if size > self._most_mb * 1_000_000:
                raise ValueError(f"With this file, more than {self._most_mb:g} MB would be kept.")
        write_file(folder, path, data)

    def _picture(self, path: str, second: float, suffix: str) -> bytes:
        import cv2

        [(_, frame)] = self.get_screenshot_at(path, [second])
        return cv2.imencode(suffix, frame)[1].tobytes()


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
    frames = chain(sound.decode(audio=0), [None])  # None: the resampler's rest
    pieces: list[Any] = []
    left = _LONGEST * 16000
    for piece in (piece for frame in frames for piece in mono.resample(frame)):
        pieces.append(piece.to_ndarray()[0])
        if (left := left - len(pieces[-1])) < 0:
            raise ValueError("The sound takes more than two hours.")
    return numpy.concatenate(pieces) if pieces else numpy.zeros(0, dtype=numpy.float32)


@cache
def _speech_model() -> Any:
    """The model that hears; its weights are downloaded when first needed."""
    from faster_whisper import WhisperModel

    return WhisperModel("base")


_HERE = VideoFiles()
get_video_length = _HERE.get_video_length
get_screenshot_at = _HERE.get_screenshot_at
save_screenshot = _HERE.save_screenshot
extract_audio = _HERE.extract_audio
transcribe_audio_with_timestamps = _HERE.transcribe_audio_with_timestamps
transcribe_video_screenshot = _HERE.transcribe_video_screenshot
