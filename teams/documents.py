"""Documents as text, read by a process within limits."""

from teams._base.documents import (
    PASSING,
    TOO_LONG,
    DocumentError,
    can_read_documents,
    document_kind,
    read_document,
)

__all__ = [
    "PASSING",
    "TOO_LONG",
    "DocumentError",
    "can_read_documents",
    "document_kind",
    "read_document",
]
