"""Program that turns one document into text, within limits.

It is started as a file, without Parley's modules, settings or environment: `KIND SECONDS` are its
arguments, the document its input, the text its output. A fault is its exit code.
"""

from __future__ import annotations

import io
import os
import resource
import sys
import zipfile
from collections.abc import Callable

MEMORY = 1_000_000_000
"""Bytes of memory, addresses included."""
UNPACKED = 200_000_000
"""Bytes of all that an Office document unpacks to."""
MEMBERS = 10_000
LONGEST = 400_000
"""Characters of the text: more than a team is shown."""

BROKEN, ENCRYPTED, TOO_LARGE, EMPTY, NOT_INSTALLED = 10, 11, 12, 13, 14

_OLE = b"\xd0\xcf\x11\xe0"
"""First bytes of encrypted Office documents, and of those older than 2007."""
_FORBIDDEN = ("socket.", "subprocess.", "os.exec", "os.posix_spawn", "os.system", "os.fork")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def main() -> int:
    """Read a document from the input; the exit code."""
    kind, seconds = sys.argv[1], int(sys.argv[2])
    _limit(seconds)
    data = sys.stdin.buffer.read()
    try:
        convert = _converter(kind)
    except ImportError:
        return NOT_INSTALLED
    sys.addaudithook(_refuse)
    try:
        if kind not in ("pdf", "html") and (fault := _package_fault(data)):
            return fault
        text = convert(data).strip()
    except MemoryError:
        return TOO_LARGE
    except Exception as error:
        return _fault_of(error)
    if not text:
        return EMPTY
    sys.stdout.buffer.write(text[:LONGEST].encode(errors="replace"))
    return 0


def _limit(seconds: int) -> None:
    for what, most in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        try:
            resource.setrlimit(what, (most, most))
        except (OSError, ValueError):  # a system without this limit
            continue


def _converter(kind: str) -> Callable[[bytes], str]:
    from markitdown import StreamInfo, converters

    found = {
        "pdf": converters.PdfConverter,
        "docx": converters.DocxConverter,
        "xlsx": converters.XlsxConverter,
        "pptx": converters.PptxConverter,
        "html": converters.HtmlConverter,
    }[kind]()
    info = StreamInfo(extension=f".{kind}", charset="utf-8" if kind == "html" else None)

    def convert(data: bytes) -> str:
        return str(found.convert(io.BytesIO(data), info).markdown)

    return convert


def _package_fault(data: bytes) -> int:
    """Fault of an Office document before it is unpacked, or 0."""
    if data.startswith(_OLE):
        return ENCRYPTED
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            members = package.infolist()
    except (zipfile.BadZipFile, ValueError, OSError):
        return BROKEN
    if len(members) > MEMBERS or sum(each.file_size for each in members) > UNPACKED:
        return TOO_LARGE
    return ENCRYPTED if any(each.flag_bits & 1 for each in members) else 0


def _fault_of(error: BaseException) -> int:
    """The exit code for an error; its causes count, too."""
    names: set[str] = set()
    cause: BaseException | None = error
    while cause is not None and len(names) < MEMBERS:
        if isinstance(cause, MemoryError):
            return TOO_LARGE
        names |= {type(cause).__name__, *(type(each).__name__ for each in cause.args)}
        cause = cause.__cause__ or cause.__context__
    if names & {"PDFPasswordIncorrect", "PDFEncryptionError", "PdfminerPasswordException"}:
        return ENCRYPTED
    return NOT_INSTALLED if "MissingDependencyException" in names else BROKEN


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    """Refuse network, processes, and files other than those of libraries."""
    if event.startswith(_FORBIDDEN):
        raise PermissionError(event)
    if event == "open":
        path, _, flags = (*arguments, 0, 0, 0)[:3]
        here = isinstance(path, int) or str(path).startswith((sys.prefix, sys.base_prefix))
        if not here or (isinstance(flags, int) and flags & _WRITES):
            raise PermissionError(event)


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)
