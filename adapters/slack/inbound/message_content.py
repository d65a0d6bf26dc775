"""Contents of Slack's messages, read in one place for every way in.

Fields are those of https://docs.slack.dev/messaging and of the SDK's types of messages,
attachments and files. Anybody may have shaped them: depth, counts and sizes are bounded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from adapters.slack.connection.payload import Payload, number_at, table_at, tables_at, text_at
from adapters.slack.inbound.block_text import BlockReader, Budget, link_mark, literal
from gateway.conversation import AwaitedFile
from gateway.visible import Card, UnreadPart, VisibleContent, Writer

SLACKBOT = "USLACKBOT"
MOST_ATTACHMENTS = 20
MOST_FILES = 50
MOST_FIELDS = 50
NAME = 255
ADDRESS = 4_000
DEEPEST_SHARE = 2
"""Shares in a share that are read."""

_DOCUMENTS = {"quip": "the canvas", "canvas": "the canvas", "list": "the list"}
"""Modes and types of files that are documents of Slack's own, which no download gives."""
_GONE = {
    "tombstone": "a deleted file",
    "hidden_by_limit": "a file that the workspace's plan hides",
}


def read_message(payload: Payload) -> VisibleContent:
    """The content of a message, in Slack's own marks."""
    who = _writer(payload)
    return _content(payload, who, Budget(fetches=who.sure))


def button_values(payload: Payload, action: str) -> Iterator[str]:
    """The values of a message's buttons with this action id."""
    for block in tables_at(payload, "blocks"):
        for element in tables_at(block, "elements"):
            if text_at(element, "action_id") == action:
                yield text_at(element, "value")


def shared_file(file: Payload) -> AwaitedFile:
    """A file as a message or files.info names it.

    `host` in its `ref`: Slack's own host, or elsewhere; for files of another organisation only
    files.info can tell ("ask").
    """
    external = file.get("is_external") is True or text_at(file, "mode") == "external"
    host = "elsewhere" if external else "slack"
    ref = {
        "id": text_at(file, "id"),
        "url": (text_at(file, "url_private_download") or text_at(file, "url_private"))[:ADDRESS],
        "host": "ask" if text_at(file, "file_access") == "check_file_info" else host,
    }
    return AwaitedFile(
        name=(text_at(file, "name") or text_at(file, "title") or text_at(file, "id"))[:NAME],
        media_type=text_at(file, "mimetype"),
        size=number_at(file, "size"),
        ref=json.dumps(ref),
    )


def _content(said: Payload, who: Writer, budget: Budget, *, share: int = 0) -> VisibleContent:
    """Content of a message, or of one that is shared in others."""
    reader = BlockReader(budget)
    # Where there are blocks, Slack shows them alone: the text is that of the notification.
    text = reader.read(tables_at(said, "blocks")) or reader.take(text_at(said, "text"))
    attachments = reader.first(MOST_ATTACHMENTS, tables_at(said, "attachments"))
    shares = [each for each in attachments if _is_share(each)]
    cards = [_card(each, reader) for each in attachments if not _is_share(each)]
    files = reader.first(MOST_FILES, tables_at(said, "files"))
    unread = [part for each in files if (part := _unread_file(each)) is not None]
    found = [each for each in files if text_at(each, "id") and _unread_file(each) is None]
    if share and not budget.fetches:
        unread += [UnreadPart(what="the file", name=shared_file(each).name) for each in found]
        found = []
    shares = reader.first(0 if share == DEEPEST_SHARE else len(shares), shares)
    return VisibleContent(
        who=who,
        text=text,
        cards=(*(each for each in cards if each != Card(site=each.site)), *_transcripts(files)),
        files=tuple(map(shared_file, found)),
        unread=(*reader.unread, *unread),
        forwards=tuple(_share(each, budget, share + 1) for each in shares),
    )


def _writer(said: Payload) -> Writer:
    """The writer of a message; Slack vouches for people."""
    name = text_at(said, "username") or text_at(said, "bot_profile", "name")
    user, bot = text_at(said, "user"), text_at(said, "bot_id")
    is_bot = bot or text_at(said, "subtype") == "bot_message" or user == SLACKBOT
    return Writer(name=name[:NAME], id=user or bot, sure=not is_bot)


def _is_share(attachment: Payload) -> bool:
    return attachment.get("is_share") is True or attachment.get("is_msg_unfurl") is True


def _share(attachment: Payload, budget: Budget, depth: int) -> VisibleContent:
    """A message that somebody shared; Slack does not vouch for its author."""
    name = text_at(attachment, "author_name") or text_at(attachment, "author_subname")
    blocks = [
        block
        for each in tables_at(attachment, "message_blocks")
        for block in tables_at(each, "message", "blocks")
    ]
    text = text_at(attachment, "text") or literal(text_at(attachment, "fallback"))
    said = {**attachment, "text": text, "blocks": blocks or tables_at(attachment, "blocks")}
    who = Writer(name=name[:NAME], id=text_at(attachment, "author_id"))
    return _content(said, who, budget, share=depth)


def _card(attachment: Payload, reader: BlockReader) -> Card:
    """A legacy attachment, or the preview of a link."""
    title, link = text_at(attachment, "title"), text_at(attachment, "title_link")
    parts = [
        reader.take(text_at(attachment, "pretext")),
        reader.take(text_at(attachment, "text")),
        reader.read(tables_at(attachment, "blocks")),
        *(
            f"[{reader.take(literal(text_at(each, 'text')))}]"
            for each in reader.first(MOST_FIELDS, tables_at(attachment, "actions"))
        ),
    ]
    card = Card(
        author=reader.take(text_at(attachment, "author_name")),
        title=reader.take(link_mark(link, title) if link and title else title),
        text="\n".join(filter(None, parts)),
        fields=tuple(
            (reader.take(text_at(each, "title")), reader.take(text_at(each, "value")))
            for each in reader.first(MOST_FIELDS, tables_at(attachment, "fields"))
        ),
        footer=reader.take(text_at(attachment, "footer")),
        site=_site(attachment)[:NAME],
    )
    if card != Card(site=card.site):
        return card
    fallback = reader.take(literal(text_at(attachment, "fallback")))
    if not fallback and (text_at(attachment, "image_url") or text_at(attachment, "thumb_url")):
        reader.leave_out(UnreadPart(what="an image of a link"))
    return Card(text=fallback, site=card.site)


def _site(attachment: Payload) -> str:
    """The site of which an attachment is a preview, or ""."""
    addresses = ("from_url", "original_url", "app_unfurl_url")
    url = next(filter(None, (text_at(attachment, name) for name in addresses)), "")
    if not url:
        return ""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        host = ""
    return text_at(attachment, "service_name") or host or url


def _unread_file(file: Payload) -> UnreadPart | None:
    """A file that is more than its bytes, or none any more."""
    mode, kind = text_at(file, "mode"), text_at(file, "filetype")
    name = (text_at(file, "title") or text_at(file, "name"))[:NAME]
    if mode in _GONE:
        return UnreadPart(what=_GONE[mode])
    if document := _DOCUMENTS.get(mode) or _DOCUMENTS.get(kind):
        return UnreadPart(what=document, name=name)
    seconds = number_at(file, "duration_ms") / 1000
    match text_at(file, "subtype"):
        case "slack_audio":
            return UnreadPart(what="a voice message", seconds=seconds)
        case "slack_video":
            return UnreadPart(what="a video clip", seconds=seconds)
        case _:
            return None


def _transcripts(files: Sequence[Payload]) -> Iterator[Card]:
    """Words that Slack has understood in voice messages and clips."""
    for file in files:
        if text := text_at(table_at(file, "transcription", "preview"), "content"):
            yield Card(title="Transcript", text=literal(text))
