"""Program that reads documents and decodes images, in forks with limits.

It is started as a file, without Parley's modules, settings or environment, and imports what takes
seconds once, when a kind first comes. Its input is a Unix socket: each `REQUEST` brings a
document's own socket, on which come the document, and back its text and `STATUS`.
"""

from __future__ import annotations

import io
import os
import resource
import select
import signal
import socket
import struct
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress

MEMORY = 1_000_000_000
"""Bytes of memory, addresses included, beyond those of what is imported."""
UNPACKED = 200_000_000
"""Bytes of all that an Office document unpacks to."""
MEMBERS = 10_000
LONGEST = 400_000
"""Characters of the text: more than a team is shown."""

BROKEN, ENCRYPTED, TOO_LARGE, EMPTY, NOT_INSTALLED, SCAN = 10, 11, 12, 13, 14, 15

_OLE = b"\xd0\xcf\x11\xe0"
"""First bytes of encrypted Office documents, and of those older than 2007."""
_FORBIDDEN = ("socket.", "subprocess.", "os.exec", "os.posix_spawn", "os.system", "os.fork")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


REQUEST = struct.Struct("8sI")
"""The kind of a document, and the seconds of a processor that it may take."""
STATUS = struct.Struct("i")
"""The exit code after a document's text; a signal's number is negative."""
IDLE = 300.0
"""Seconds without a document after which the process ends."""


def serve(control: socket.socket, idle: float = IDLE) -> None:
    """Fork for each document, until nobody needs it."""
    woken = _wake_on_children()
    reading: dict[int, socket.socket] = {}
    while True:
        poll = select.poll()
        poll.register(control, select.POLLIN)
        poll.register(woken, select.POLLIN)
        for document in reading.values():
            poll.register(document, 0)  # it tells who has left
        told = {fd for fd, _ in poll.poll(None if reading else idle * 1000)}
        for pid, document in list(reading.items()):
            if document.fileno() in told:
                os.kill(pid, signal.SIGKILL)
        if woken in told:
            os.read(woken, 1000)
            _reap(reading)
        if control.fileno() in told:
            request, fds, _, _ = socket.recv_fds(control, REQUEST.size, 1)
            if not fds:
                break
            _begin(request, socket.socket(fileno=fds[0]), reading)
        if not told and not reading:
            break
    for pid in reading:
        os.kill(pid, signal.SIGKILL)


def _wake_on_children() -> int:
    """A descriptor that can be read once a child has ended."""
    woken, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _wake)
    return woken


def _wake(_signal: int, _frame: object) -> None:
    """Be there: a signal without a function wakes nobody."""


def _begin(request: bytes, document: socket.socket, reading: dict[int, socket.socket]) -> None:
    name, seconds = REQUEST.unpack(request)
    kind = name.rstrip(b"\0").decode()
    with suppress(Exception):  # the child, which has what this imports, tells of it
        _converter(kind)
    try:
        pid = os.fork()
    except OSError:  # no memory or process is left
        document.close()
        return
    if pid:
        reading[pid] = document
        return
    signal.set_wakeup_fd(-1)
    os.dup2(document.fileno(), 0)
    os.closerange(3, 65_536)  # of other documents, too
    os._exit(_answer(socket.socket(fileno=0), kind, seconds))


def _reap(reading: dict[int, socket.socket]) -> None:
    """Tell of children that have ended how they did."""
    for pid in list(reading):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            with reading.pop(pid) as document, suppress(OSError):
                document.sendall(STATUS.pack(os.waitstatus_to_exitcode(status)))


class _Fault(Exception):
    """A document without a text, by the exit code that says why."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def _answer(document: socket.socket, kind: str, seconds: int) -> int:
    """Write a document as text; the exit code."""
    _limit(seconds)
    try:
        with document.makefile("rb") as file:
            text = _text(kind, file.read())
        document.sendall(text[:LONGEST].encode(errors="replace"))
    except ImportError:
        return NOT_INSTALLED
    except MemoryError:
        return TOO_LARGE
    except _Fault as fault:
        return fault.code
    except Exception as error:
        return _fault_of(error)
    return 0


def _text(kind: str, data: bytes) -> str:
    convert = _converter(kind)
    sys.addaudithook(_refuse)
    if kind not in ("pdf", "html", "image") and (code := _package_fault(data)):
        raise _Fault(code)
    if not (text := convert(data).strip()):
        raise _Fault(EMPTY)
    return text


def _limit(seconds: int) -> None:
    held = 0
    with suppress(OSError), open("/proc/self/statm", encoding="ascii") as file:
        held = int(file.read().split()[0]) * resource.getpagesize()
    for what, most in (
        (resource.RLIMIT_AS, held + MEMORY),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        try:
            resource.setrlimit(what, (most, most))
        except (OSError, ValueError):  # a system without this limit
            continue


def _converter(kind: str) -> Callable[[bytes], str]:
    if kind == "pdf":
        return _pdf_converter()
    if kind == "image":
        return _image_converter()
    from markitdown import StreamInfo, converters

    found = {
        "docx": converters.DocxConverter,
        "xlsx": converters.XlsxConverter,
        "pptx": converters.PptxConverter,
        "html": converters.HtmlConverter,
    }[kind]()
    info = StreamInfo(extension=f".{kind}", charset="utf-8" if kind == "html" else None)

    def convert(data: bytes) -> str:
        return str(found.convert(io.BytesIO(data), info).markdown)

    return convert


def _pdf_converter() -> Callable[[bytes], str]:
    from pypdf import PageObject, PdfReader, errors

    def page_text(page: PageObject, number: int) -> tuple[str, int]:
        """A page's text, and the fault for which it has none."""
        try:
            text = page.extract_text().strip()
            fault = 0 if text else SCAN if len(page.images) else EMPTY
        except (MemoryError, errors.LimitReachedError):
            raise
        except Exception:
            return f"[page {number} can't be read]", BROKEN
        return text or f"[page {number} has no text]", fault

    def convert(data: bytes) -> str:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):  # "": only changes need a password
            raise _Fault(ENCRYPTED)
        texts, faults, length = list[str](), list[int](), 0
        for number, page in enumerate(reader.pages, 1):
            text, fault = page_text(page, number)
            texts.append(text)
            faults.append(fault)
            if (length := length + len(text)) > LONGEST:
                break
        if all(faults):
            raise _Fault(min(faults, key=(SCAN, BROKEN, EMPTY).index, default=BROKEN))
        return "\n\n".join(texts)

    return convert


def _image_converter() -> Callable[[bytes], str]:
    from PIL import Image, PngImagePlugin

    Image.init()  # its readers
    Image.MAX_IMAGE_PIXELS = None  # memory is bounded
    PngImagePlugin.MAX_TEXT_CHUNK = PngImagePlugin.MAX_TEXT_MEMORY = UNPACKED

    def convert(data: bytes) -> str:
        """Number of pixels of an image whose first frame is whole."""
        with Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "GIF", "WEBP")) as image:
            image.load()
            return str(image.width * image.height)

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
    if "LimitReachedError" in names:
        return TOO_LARGE
    if names & {"DependencyError", "FileNotDecryptedError", "NotImplementedError"}:
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
    with socket.socket(fileno=0) as parent:
        serve(parent)
