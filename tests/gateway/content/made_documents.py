"""Small documents that the tests make themselves."""

from __future__ import annotations

import io
import zipfile

from pypdf import PdfReader, PdfWriter

_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_SLIDE = "http://schemas.openxmlformats.org/presentationml/2006/main"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_MAIN = "application/vnd.openxmlformats-officedocument"
DOCX = f"{_MAIN}.wordprocessingml.document"
XLSX = f"{_MAIN}.spreadsheetml.sheet"
PPTX = f"{_MAIN}.presentationml.presentation"
SCANNED = "a picture of a page"


def pdf(*texts: str, trailer: str = "", kids: str = "") -> bytes:
    """A PDF with a page for each line; SCANNED makes a picture.

    `kids` are references instead of those to its pages.
    """
    pages = [f"{5 + 2 * n} 0 R" for n in range(len(texts))]
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids or ' '.join(pages)}] /Count {len(texts)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        "<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray"
        " /BitsPerComponent 8 /Length 1 >>\nstream\n0\nendstream",
    ]
    for n, text in enumerate(texts):
        stream = "/Im1 Do" if text == SCANNED else f"BT /F1 24 Tf 72 700 Td ({text}) Tj ET"
        kind = "/XObject << /Im1 4 0 R" if text == SCANNED else "/Font << /F1 3 0 R"
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {6 + 2 * n} 0 R"
            f" /Resources << {kind} >> >> >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    body, offsets = "%PDF-1.4\n", list[int]()
    for n, each in enumerate(objects, 1):
        offsets.append(len(body))
        body += f"{n} 0 obj\n{each}\nendobj\n"
    table = "".join(f"{at:010} 00000 n \n" for at in offsets)
    size = len(objects) + 1
    return (
        f"{body}xref\n0 {size}\n0000000000 65535 f \n{table}"
        f"trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\nstartxref\n{len(body)}\n%%EOF\n"
    ).encode()


def encrypted_pdf() -> bytes:
    """A PDF that says it needs a password."""
    key = "0" * 64
    return pdf(
        "secret",
        trailer=f"/Encrypt << /Filter /Standard /V 1 /R 2 /O <{key}> /U <{key}> /P -1 >>"
        f" /ID [<{key[:32]}> <{key[:32]}>]",
    )


def sealed_pdf(text: str, password: str, algorithm: str) -> bytes:
    """A PDF with a password, for changes alone if that is ""."""
    writer, packed = PdfWriter(PdfReader(io.BytesIO(pdf(text)))), io.BytesIO()
    writer.encrypt(password, "of the owner", algorithm=algorithm)
    writer.write(packed)
    return packed.getvalue()


def docx(text: str) -> bytes:
    """A Word document of one paragraph."""
    words = f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"
    body = f'<w:document xmlns:w="{_WORD}"><w:body>{words}</w:body></w:document>'
    return _package("word/document.xml", f"{DOCX}.main+xml", body)


def xlsx(rows: list[list[str]]) -> bytes:
    """A workbook of one sheet with text cells."""
    cells = "".join(
        f'<row r="{n}">'
        + "".join(
            f'<c r="{chr(65 + m)}{n}" t="inlineStr"><is><t>{cell}</t></is></c>'
            for m, cell in enumerate(row)
        )
        + "</row>"
        for n, row in enumerate(rows, 1)
    )
    book = (
        f'<workbook xmlns="{_SHEET}" xmlns:r="{_OFFICE}"><sheets>'
        '<sheet name="Costs" sheetId="1" r:id="rId1"/></sheets></workbook>'
    )
    sheet = f'<worksheet xmlns="{_SHEET}"><sheetData>{cells}</sheetData></worksheet>'
    return _package(
        "xl/workbook.xml",
        f"{XLSX}.main+xml",
        book,
        ("xl/worksheets/sheet1.xml", f"{_MAIN}.spreadsheetml.worksheet+xml", "worksheet", sheet),
    )


def pptx(text: str) -> bytes:
    """A presentation of one slide with one box."""
    show = (
        f'<p:presentation xmlns:p="{_SLIDE}" xmlns:r="{_OFFICE}"><p:sldIdLst>'
        '<p:sldId id="256" r:id="rId1"/></p:sldIdLst><p:sldSz cx="9144000" cy="6858000"/>'
        "</p:presentation>"
    )
    group = (
        '<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'
    )
    box = (
        '<p:sp><p:nvSpPr><p:cNvPr id="2" name="Box"/><p:cNvSpPr txBox="1"/><p:nvPr/></p:nvSpPr>'
        '<p:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="9" cy="9"/></a:xfrm></p:spPr>'
        f"<p:txBody><a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
    )
    slide = (
        f'<p:sld xmlns:p="{_SLIDE}" xmlns:a="{_DRAWING}"><p:cSld><p:spTree>{group}{box}'
        "</p:spTree></p:cSld></p:sld>"
    )
    return _package(
        "ppt/presentation.xml",
        f"{PPTX}.main+xml",
        show,
        ("ppt/slides/slide1.xml", f"{_MAIN}.presentationml.slide+xml", "slide", slide),
    )


def bomb(size: int = 300_000_000) -> bytes:
    """A Word document that says so many spaces, packed a thousandfold."""
    packed = io.BytesIO()
    with (
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as package,
        package.open("word/document.xml", "w", force_zip64=True) as member,
    ):
        for _ in range(size // 10_000_000):
            member.write(b" " * 10_000_000)
    return packed.getvalue()


def _package(main: str, media_type: str, body: str, *parts: tuple[str, str, str, str]) -> bytes:
    """An Office document: its main part, and those it relates to."""
    folder, _, name = main.partition("/")
    overrides = "".join(
        f'<Override PartName="/{part}" ContentType="{kind}"/>'
        for part, kind in [(main, media_type), *((path, kind) for path, kind, *_ in parts)]
    )
    relations = "".join(
        f'<Relationship Id="rId{n}" Type="{_OFFICE}/{relation}" Target="{path.partition("/")[2]}"/>'
        for n, (path, _, relation, _) in enumerate(parts, 1)
    )
    files = {
        "[Content_Types].xml": f'<Types xmlns="{_TYPES}"><Default Extension="rels" ContentType='
        '"application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{overrides}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="rId1"'
        f' Type="{_OFFICE}/officeDocument" Target="{main}"/></Relationships>',
        f"{folder}/_rels/{name}.rels": f'<Relationships xmlns="{_RELATIONS}">{relations}'
        "</Relationships>",
        main: body,
        **{path: content for path, _, _, content in parts},
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as package:
        for path, content in files.items():
            package.writestr(path, f'<?xml version="1.0" encoding="UTF-8"?>{content}')
    return packed.getvalue()
