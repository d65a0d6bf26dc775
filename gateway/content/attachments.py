"""Limits on a message's files: size, type, the thread's total."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from gateway.config.settings import Attachments
from gateway.content.images import image_head
from gateway.conversation import Attachment, AwaitedFile, MissingFile
from gateway.store.rulebook import MissingFileWords
from gateway.values import value

MB = 1_000_000
NOT_TAKEN = "Your message was not accepted: "
MISSING = MissingFileWords(
    to_team="(The file {name!r} did not arrive: {why}.)",
    to_people="The file {name!r} did not reach the team: {why}.",
    too_late="its platform did not deliver it in time; send it again",
)
UNKNOWN_TYPES = ("", "application/octet-stream")
"""Types of which only a file's contents show whether it is an image."""


def by_content(file: Attachment) -> Attachment:
    """The file, with an image's type taken from its contents."""
    head = image_head(file.data)
    if head is None or head.media_type == file.media_type:
        return file
    return replace(file, media_type=head.media_type)


def refusal(files: Sequence[Attachment | AwaitedFile], limits: Attachments, *, held: int) -> str:
    """Reason to refuse a message for its files, or "".

    The thread has `held` bytes of files. Only the size and the type of a file that is not here yet
    are known.
    """
    for file in files:
        if said := _refused(file, limits):
            return f"{NOT_TAKEN}{said}"
    together = sum(file.size for file in files)
    if together > limits.message_mb * MB:
        said = f"its files have {_mb(together)} in total; a message may have"
        return f"{NOT_TAKEN}{said} {limits.message_mb:g} MB."
    if held + together > limits.thread_mb * MB:
        said = f"with these files the thread would have {_mb(held + together)}; a thread may have"
        return f"{NOT_TAKEN}{said} {limits.thread_mb:g} MB. /new starts another one."
    return ""


@value
class FetchedFiles:
    """Files fetched for a stored message, and the missing ones."""

    files: tuple[Attachment, ...]
    missing: tuple[MissingFile, ...]
    limits: Attachments
    words: MissingFileWords = MISSING

    def sort(self, held: int) -> tuple[list[Attachment], list[MissingFile]]:
        """Files accepted and refused, in a thread that has `held` bytes."""
        taken: list[Attachment] = []
        left = [*self.missing]
        for file in map(by_content, self.files):
            if said := refusal([*taken, file], self.limits, held=held):
                why = said.removeprefix(NOT_TAKEN).replace(f"{file.name} ", "it ", 1).rstrip(".")
                left.append(MissingFile(name=file.name, why=why))
            else:
                taken.append(file)
        return taken, left


def _refused(file: Attachment | AwaitedFile, limits: Attachments) -> str:
    if file.size > limits.file_mb * MB:
        return f"{file.name} has {_mb(file.size)}; a file may have {limits.file_mb:g} MB."
    awaited = isinstance(file, AwaitedFile)
    known = not awaited or file.media_type not in UNKNOWN_TYPES
    if known and not any(fnmatchcase(file.media_type.lower(), each) for each in limits.types):
        return f"{file.name} is of the type {file.media_type}, which is not allowed here."
    return "" if awaited else _unfit(file, limits)


def _unfit(file: Attachment, limits: Attachments) -> str:
    """Fault of a file's contents, or ""."""
    head = image_head(file.data)
    if head is None:
        if not file.media_type.lower().startswith("image/"):
            return ""
        return f"{file.name} is not an image that models accept (PNG, JPEG, GIF or WebP)."
    if head.pixels > limits.image_megapixels * MB:
        size = f"{head.width:,} by {head.height:,} pixels"
        return f"{file.name} has {size}; an image may have {limits.image_megapixels:g} megapixels."
    return ""


def _mb(size: int) -> str:
    return f"{size / MB:,.1f} MB"
