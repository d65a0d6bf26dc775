"""Documents as text, within limits, or named with the reason why not."""

import asyncio
import io
import json
import os
import signal
import socket
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest

from gateway.config.settings import Attachments
from gateway.content import documents
from gateway.content.attachments import as_shown
from gateway.content.documents import Documents
from gateway.conversation import Attachment, MissingFile
from teams._base import document_process
from teams._base.documents import WORKER
from teams.documents import can_read_documents, document_kind
from tests.gateway.content.made_documents import (
    DOCX,
    PPTX,
    SCANNED,
    XLSX,
    bomb,
    docx,
    encrypted_pdf,
    pdf,
    pptx,
    sealed_pdf,
    xlsx,
)

pytestmark = pytest.mark.timeout(60)

LIMITS = Attachments()
HTML = b"<html><script>steal()</script><body><h1>Plan</h1><p>Buy <b>eggs</b></p></body></html>"


def file(name: str, media_type: str, data: bytes) -> Attachment:
    return Attachment(name=name, media_type=media_type, data=data)


PDF = "application/pdf"
LOCKED = "it is encrypted, or of an old format"
SCAN = "it is a scan: pictures of pages, without their text"


def chaos(*case):
    """One more file, tried among the slow tests."""
    return pytest.param(*case, marks=pytest.mark.chaos)


async def read(*files: Attachment) -> tuple[list[Attachment], list[MissingFile]]:
    return await Documents().as_text(files, LIMITS)


# The first test: each start of the process imports for a second.
async def test_a_process_that_can_not_begin_leaves_the_file_missing_for_now(monkeypatch):
    found, sent = Documents(), file("a.pdf", "application/pdf", pdf("Buy bread"))
    WORKER.close()  # where another file's tests have left it
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/nowhere/python")
        (_, (missing,)) = await found.as_text([sent], LIMITS)
    assert missing.why == "there was no room to read it"
    ((read_now,), _) = await found.as_text([sent], LIMITS)
    assert read_now.data == b"Buy bread"


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        (file("plan.pdf", "application/pdf", pdf("Buy bread")), "Buy bread"),
        chaos(file("plan", "application/octet-stream", pdf("Buy bread")), "Buy bread"),
        (
            file("plan.pdf", PDF, pdf("Buy bread", SCANNED, "Buy milk", "")),
            "Buy bread\n\n[page 2 has no text]\n\nBuy milk\n\n[page 4 has no text]",
        ),
        (
            file("plan.pdf", PDF, pdf("Buy bread", "Buy milk", kids="5 0 R 5 0 R 6 0 R 7 0 R")),
            "Buy bread",
        ),
        *(
            (file("plan.pdf", PDF, sealed_pdf("Buy bread", "", how)), "Buy bread")
            for how in ("RC4-40", "RC4-128", "AES-128", "AES-256")
        ),
        (file("plan.docx", DOCX, docx("Buy milk")), "Buy milk"),
        chaos(file("plan.docx", "application/zip", docx("Buy milk")), "Buy milk"),
        (file("costs.xlsx", XLSX, xlsx([["Item", "Price"], ["Bread", "3"]])), "| Bread | 3 |"),
        chaos(file("talk.pptx", PPTX, pptx("Buy cheese")), "Buy cheese"),
        (file("plan.html", "text/html; charset=utf-8", HTML), "# Plan\n\nBuy **eggs**"),
    ],
    ids=lambda each: each.name if isinstance(each, Attachment) else "",
)
async def test_a_document_is_read_as_text(sent, text):
    assert can_read_documents()
    ((found,), missing) = await read(sent)
    assert text in found.data.decode()
    assert b"steal" not in found.data
    assert (found.name, found.size) == (sent.name, sent.size)
    assert missing == []


def pdf_bomb() -> bytes:
    """A PDF whose page unpacks to more than a gigabyte."""
    blank, check = b" " * 2**24, 1
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(blank) + packer.flush(zlib.Z_FULL_FLUSH)
    for _ in range(96):
        check = zlib.adler32(blank, check)
    packed = b"\x78\xda" + block * 96 + b"\x03\x00" + check.to_bytes(4, "big")
    packed = zlib.compress(packed, 9)
    begin, end = pdf("x").split(b"<< /Length", 1)
    rest = end.split(b"endstream", 1)[1]
    filters = b"/Filter [/FlateDecode /FlateDecode]"
    head = b"<< %s /Length %d >>\nstream\n" % (filters, len(packed))
    return begin + head + packed + b"\nendstream" + rest


def pretending_package() -> bytes:
    """A Word document whose text is not XML."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as package:
        package.writestr("word/document.xml", "<w:document")
    return packed.getvalue()


# The test makes the files: a bomb takes seconds, and each process of a run collects all tests.
@pytest.mark.parametrize(
    ("name", "media_type", "contents", "why"),
    [
        ("a.pdf", PDF, lambda: b"%PDF-1.4 and nothing more", "it is broken"),
        ("a.pdf", PDF, lambda: pdf("x", kids="99 0 R"), "it is broken"),
        ("a.pdf", PDF, lambda: pdf("Buy bread")[:-300], "it is broken"),
        chaos("a.pdf", PDF, encrypted_pdf, LOCKED),
        ("a.pdf", PDF, lambda: sealed_pdf("x", "secret", "AES-256"), LOCKED),
        chaos("a.pdf", PDF, lambda: sealed_pdf("x", "secret", "RC4-40"), LOCKED),
        ("a.pdf", PDF, lambda: pdf("x", trailer="/Encrypt << /Filter /Own >>"), LOCKED),
        ("a.pdf", PDF, lambda: pdf(""), "no text was found in it"),
        ("a.pdf", PDF, lambda: pdf(SCANNED, "", SCANNED), SCAN),
        chaos("a.docx", DOCX, lambda: b"PK\x03\x04 and nothing more", "it is broken"),
        chaos("a.docx", DOCX, pretending_package, "it is broken"),
        chaos("a.xlsx", XLSX, lambda: b"\xd0\xcf\x11\xe0 ...", LOCKED),
        chaos("a.docx", DOCX, bomb, "it is too large when it is unpacked"),
        chaos("a.pdf", PDF, pdf_bomb, "it is too large when it is unpacked"),
    ],
)
async def test_what_cannot_be_read_is_named_with_the_reason(name, media_type, contents, why):
    sent = file(name, media_type, contents())
    assert await read(sent) == ([], [MissingFile(name=name, why=why)])


async def test_a_document_that_takes_too_long_is_given_up_and_may_be_tried_again(monkeypatch):
    found = Documents()
    sent = file("a.pdf", "application/pdf", pdf("Buy bread"))
    monkeypatch.setattr(documents, "SECONDS", 0.001)
    late = MissingFile(name="a.pdf", why="it takes too long to read")
    assert await found.as_text([sent], LIMITS) == ([], [late])
    monkeypatch.undo()
    ((read_now,), _) = await found.as_text([sent], LIMITS)
    assert read_now.data == b"Buy bread"


async def test_the_same_contents_are_read_once(monkeypatch):
    found = Documents()
    sent = file("a.pdf", "application/pdf", pdf("Buy bread"))
    both, _ = await found.as_text([sent, file("b.pdf", "", sent.data)], LIMITS)
    assert [each.name for each in both] == ["a.pdf", "b.pdf"]
    monkeypatch.setattr(documents, "SECONDS", 0.001)  # nothing can be read any more
    again, missing = await found.as_text([sent], LIMITS)
    assert (again[0].data, missing) == (b"Buy bread", [])


async def test_the_loop_goes_on_and_who_leaves_ends_the_process():
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(read(file("a.pdf", "application/pdf", pdf("x"))))
        await asyncio.sleep(0)
        reading.cancel()
    assert reading.cancelled()


async def test_documents_are_forked_from_one_process_that_is_started_anew_after_its_end():
    sent = [file(f"{n}.html", "text/html", b"<p>%d</p>" % n) for n in range(3)]
    assert [each.data for each in (await read(*sent[:2]))[0]] == [b"0", b"1"]
    first = worker()
    assert (await read(sent[2]))[0][0].data == b"2"
    assert worker() == first
    os.kill(first, signal.SIGKILL)
    assert (await read(sent[0]))[0][0].data == b"0"
    assert worker() != first


def worker() -> int:
    assert WORKER._process is not None
    return WORKER._process.pid


@pytest.mark.skipif(sys.platform != "linux", reason="children are found in /proc")
async def test_whoever_leaves_a_document_ends_what_reads_it():
    await read(file("a.html", "text/html", b"<p>x</p>"))  # it has imported
    with WORKER.begin("html", 20):
        while not is_reading():  # noqa: ASYNC110 (another process's doing)
            await asyncio.sleep(0)
    while is_reading():  # noqa: ASYNC110
        await asyncio.sleep(0)


def is_reading() -> bool:
    return bool(Path(f"/proc/{worker()}/task/{worker()}/children").read_text())


async def test_without_documents_the_process_ends():
    program = "import runpy, socket, sys; m = runpy.run_path(sys.argv[1])"
    serving = f"{program}; m['serve'](socket.socket(fileno=0), 0.001)"
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = await asyncio.create_subprocess_exec(
            *[sys.executable, "-I", "-c", serving, document_process.__file__], stdin=theirs.fileno()
        )
        assert await child.wait() == 0


async def test_html_that_nobody_converts_is_read_as_it_stands(monkeypatch):
    page = file("plan.html", "text/html", HTML)
    monkeypatch.setattr(documents, "SECONDS", 0.001)
    assert await read(page) == ([page], [])


async def test_without_the_extra_office_files_are_named_and_the_log_names_it(monkeypatch, caplog):
    monkeypatch.setattr(documents, "can_read_documents", lambda kind: kind == "pdf")
    sent = file("a.docx", DOCX, docx("x"))
    found = Documents()
    for _ in range(2):
        assert await found.as_text([sent], LIMITS) == ([sent], [])
    assert as_shown(sent) == MissingFile(name="a.docx", why="the file type DOCX can't be read here")
    assert caplog.text.count("pip install 'parley-gateway[documents]'") == 1


@pytest.mark.parametrize(
    "other",
    [
        file("a.txt", "text/plain", b"%PD"),
        file("a.zip", "application/zip", b"PK\x03\x04"),
        file("a.doc", "application/msword", b"\xd0\xcf\x11\xe0"),
        file("pdf", "application/octet-stream", b"x"),
    ],
    ids=lambda each: each.name,
)
def test_what_is_no_document_stays_as_it_is(other):
    assert document_kind(other.name, other.media_type, other.data) == ""


async def test_a_forbidden_document_is_left_to_the_limits():
    sent = file("a.pdf", "application/pdf", pdf("x"))
    limits = Attachments(types=["image/*"])
    assert await Documents().as_text([sent], limits) == ([sent], [])


ACTS = [
    "open('/etc/passwd')",
    "open('/tmp/made', 'w')",
    "__import__('socket').create_connection(('127.0.0.1', 9))",
    "__import__('subprocess').run(['true'])",
    "__import__('os').system('true')",
]
TRIED = """
import json, runpy, socket, subprocess, sys
sys.addaudithook(runpy.run_path(sys.argv[1])["_refuse"])
for act in sys.argv[2:]:
    try:
        eval(act)
    except PermissionError:
        print(json.dumps(act))
"""


@pytest.fixture(scope="module")
def refused() -> list[str]:
    """The acts that one process may not do."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", TRIED, document_process.__file__, *ACTS],
        capture_output=True,
        text=True,
        check=False,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("act", ACTS)
def test_what_reads_a_document_reaches_nothing_else(refused: list[str], act: str):
    assert act in refused
