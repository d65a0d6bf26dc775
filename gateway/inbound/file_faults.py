"""Faults of files, told before they are sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gateway.client import SentFile
from gateway.config.settings import Attachments
from gateway.content.attachments import NOT_TAKEN, as_shown, by_content, refusal
from gateway.content.documents import Documents
from gateway.conversation import Attachment, MissingFile
from gateway.inbound.receipts import attachment_of

BLIND = "The team does not see the image {name!r}: {models} takes none."
NOT_SHOWN = "The team can't be shown the file {name!r}: {why}."


async def file_faults(
    files: Sequence[SentFile], limits: Attachments, blind: str, documents: Documents
) -> list[str]:
    """A sentence for each file that the team does not get.

    `blind` are the team's models if none of them takes images.
    """
    found = [by_content(attachment_of(file)) for file in files]
    taken, missing = await documents.as_text(found, limits)
    return [*map(_not_shown, missing), *_faults(taken, limits, blind)]


def _faults(files: Sequence[Attachment], limits: Attachments, blind: str) -> Iterator[str]:
    for file in files:
        if said := refusal([file], limits, held=0):
            yield said.removeprefix(NOT_TAKEN)
        elif isinstance(shown := as_shown(file), MissingFile):
            yield _not_shown(shown)
        elif blind and file.media_type.startswith("image/"):
            yield BLIND.format(models=blind, name=file.name)


def _not_shown(file: MissingFile) -> str:
    return NOT_SHOWN.format(name=file.name, why=file.why)
