"""A message's files: limits, contents for the team, and missing ones.

A file of which a model can't be shown anything is left out; team and author are told of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from gateway.config.settings import Attachments
from gateway.content.images import image_head
from gateway.content.task import FILE_NAME, LONGEST_QUOTE
from gateway.conversation import Attachment, AwaitedFile, InboundMessage, MissingFile
from gateway.store.rulebook import MissingFileWords, SortedFiles
from gateway.values import value
from gateway.visible import names_of
from teams.documents import document_kind

MB = 1_000_000
NOT_TAKEN = "Your message was not accepted: "
MISSING = MissingFileWords(
    to_people="The file {name!r} did not reach the team: {why}.",
    too_late="its platform did not deliver it in time; send it again",
)
UNREAD_PARTS = "The team can't read this part of it: {parts}."
CUT = "The team sees only the first {most:,} characters of the file {name!r}."
UNKNOWN_TYPES = ("", "application/octet-stream")
"""Types of which only a file's contents show what it is."""
READ = "text/vnd.parley.read"
"""Media type of a file that was found to be text, or was made text, whatever it is called."""

_DOCUMENTS = (b"%PDF-", b"PK\x03\x04", b"{\\rtf")
"""First bytes of files that are no text, even if all their bytes are characters."""


def by_content(file: Attachment) -> Attachment:
    """The file, with an image's type taken from its contents."""
    head = image_head(file.data)
    if head is not None:
        return replace(file, media_type=head.media_type)
    if file.media_type == READ:  # only the gateway itself says so
        return replace(file, media_type="")
    return file


def as_shown(file: Attachment) -> Attachment | MissingFile:
    """The file as the team gets it, or the reason why not."""
    kind = file.media_type.lower()
    if kind.startswith(("image/", "text/")) or kind == "application/json":
        return file
    if _is_text(file.data):
        return replace(file, media_type=READ)
    named = document_kind(file.name, kind, file.data).upper() or kind
    typed = "the file type" if named in UNKNOWN_TYPES else f"the file type {named}"
    return MissingFile(name=file.name, why=f"{typed} can't be read here")


def told_of(files: Sequence[Attachment], missing: Sequence[MissingFile]) -> str:
    """Notice about files that the team does not get whole, or ""."""
    lines = [
        MISSING.to_people.format(name=each.name, why=each.why) for each in missing if not each.part
    ]
    if parts := names_of(missing, FILE_NAME):
        lines.append(UNREAD_PARTS.format(parts=parts))
    lines += [
        CUT.format(most=LONGEST_QUOTE, name=file.name)
        for file in files
        if not file.media_type.startswith("image/")
        and len(file.data) > LONGEST_QUOTE
        and len(file.data.decode(errors="replace")) > LONGEST_QUOTE
    ]
    return "\n".join(lines)


def refusal(files: Sequence[Attachment | AwaitedFile], limits: Attachments, *, held: int) -> str:
    """Reason to refuse files, or "".

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
    """Files fetched for a stored message, `by_content`, and the missing ones."""

    files: tuple[Attachment, ...]
    missing: tuple[MissingFile, ...]
    limits: Attachments

    def sort(self, held: int) -> SortedFiles:
        """Sort the files for a thread that has `held` bytes."""
        taken: list[Attachment] = []
        left = [*self.missing]
        for file in self.files:
            if said := refusal([*taken, file], self.limits, held=held):
                left.append(_left_out(file, said))
                continue
            match as_shown(file):
                case Attachment() as shown:
                    taken.append(shown)
                case MissingFile() as gone:
                    left.append(gone)
        return SortedFiles(taken=taken, missing=left, notice=told_of(taken, left))


def with_allowed_awaited(message: InboundMessage, limits: Attachments) -> InboundMessage:
    """The message, to wait for the files alone that the limits allow.

    The others are named: a message on its way is not sent again for one of its files.
    """
    taken: list[AwaitedFile] = []
    left = [*message.missing]
    for file in message.awaited:
        if said := refusal([*taken, file], limits, held=0):
            left.append(_left_out(file, said))
        else:
            taken.append(file)
    return replace(message, awaited=tuple(taken), missing=tuple(left))


def _left_out(file: Attachment | AwaitedFile, said: str) -> MissingFile:
    why = said.removeprefix(NOT_TAKEN).replace(f"{file.name} ", "it ", 1).rstrip(".")
    return MissingFile(name=file.name, why=why)


def with_shown_files(message: InboundMessage, limits: Attachments) -> InboundMessage:
    """The message with its files as the team gets them.

    A file that the limits forbid stays as it is: for it, the message is refused.
    """
    taken: list[Attachment] = []
    left = [*message.missing]
    for file in message.attachments:
        match file if _refused(file, limits) else as_shown(file):
            case Attachment() as shown:
                taken.append(shown)
            case MissingFile() as gone:
                left.append(gone)
    return replace(message, attachments=tuple(taken), missing=tuple(left))


def is_forbidden(file: Attachment, limits: Attachments) -> bool:
    """True if the limits forbid a file by itself."""
    return bool(_refused(file, limits))


def _refused(file: Attachment | AwaitedFile, limits: Attachments) -> str:
    if file.size > limits.file_mb * MB:
        return f"{file.name} has {_mb(file.size)}; a file may have {limits.file_mb:g} MB."
    awaited = isinstance(file, AwaitedFile)
    known = file.media_type != READ and not (awaited and file.media_type in UNKNOWN_TYPES)
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


def _is_text(data: bytes) -> bool:
    if data.startswith(_DOCUMENTS) or b"\0" in data:
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _mb(size: int) -> str:
    return f"{size / MB:,.1f} MB"
