"""Documents are read and nothing else: nothing is written beside them, followed out of them, or started by them."""

import os
import shutil
import socket
from collections.abc import Sequence
from pathlib import Path

import pymupdf
import pytest

from pipeline.cli.main import main
from pipeline.errors import ExitCode
from tests.pipeline.checkpoints import READS_TEXT
from tests.pipeline.conftest import Batch
from tests.pipeline.runs import rows

SAMPLES = Path(__file__).parents[2] / "samples"
SETS = [argument for text in READS_TEXT for argument in ("--set", text)]


def listing(folder: Path) -> dict[str, tuple[int, int, int, bytes | None]]:
    """Names, modes, sizes, change times and contents of all that is in a folder."""
    found = {}
    for path in sorted([folder, *folder.rglob("*")]):
        stat = path.stat()
        content = path.read_bytes() if path.is_file() else None
        found[str(path)] = (stat.st_mode, stat.st_size if path.is_file() else 0, stat.st_mtime_ns, content)
    return found


def stream(content: bytes, entries: bytes = b"") -> bytes:
    """Returns a PDF stream object. entries: of its dictionary."""
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), entries, content)


def pdf_file(objects: Sequence[bytes]) -> bytes:
    """Returns the PDF file that holds these objects, numbered from 1; the first is the catalog."""
    file, offsets = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(file))
        file += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    size, start = len(objects) + 1, len(file)
    file += b"xref\n0 %d\n0000000000 65535 f \n" % size
    file += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return file + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, start)


def hostile_pdf(path: Path, *, url: str, outside: Path, launched: Path) -> None:
    """A page with all that reaches out of a PDF: actions, links, a stream in another file, attachments, forms.

    The picture on it is grey, but said to be in the file `outside`.
    """
    script = f"app.launchURL\\('{url}'\\); this.submitForm\\('{url}'\\); app.alert\\(1\\)"
    entity = f'<!DOCTYPE a [<!ENTITY b SYSTEM "{url}">]><xdp:xdp xmlns:xdp="http://ns.adobe.com/xdp/">&b;</xdp:xdp>'
    gray = "/Width 8 /Height 8 /BitsPerComponent 8 /ColorSpace /DeviceGray"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R /AcroForm << /XFA 11 0 R /Fields [] >>"
        " /Names << /EmbeddedFiles << /Names [(a.pdf) 9 0 R] >> >>"
        f" /OpenAction << /S /JavaScript /JS ({script}) /Next << /S /Launch /F (/bin/touch)"
        f" /Unix << /F (/bin/touch) /P ({launched}) >> >> >> >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] /Contents 4 0 R"
        " /Resources << /Font << /F1 5 0 R >> /XObject << /Out 6 0 R >> >> /Annots [7 0 R 8 0 R 10 0 R]"
        f" /AA << /O << /S /URI /URI ({url}) >> >> >>",
        stream(b"BT /F1 18 Tf 40 240 Td (seen) Tj ET q 100 0 0 100 20 20 cm /Out Do Q"),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        stream(b"\x80" * 64, f"/Type /XObject /Subtype /Image {gray} /F ({outside})".encode()),
        f"<< /Type /Annot /Subtype /Link /Rect [0 0 300 300] /A << /S /URI /URI ({url}) >> >>",
        "<< /Type /Annot /Subtype /Link /Rect [0 0 300 300]"
        f" /A << /S /GoToR /F ({outside}) /D [0 /Fit] >> >>",
        "<< /Type /Filespec /F (inside.pdf) /EF << /F 12 0 R >> >>",
        "<< /Type /Annot /Subtype /FileAttachment /Rect [280 280 299 299] /FS 9 0 R >>",
        stream(entity.encode()),
        stream((SAMPLES / "report.pdf").read_bytes(), b"/Type /EmbeddedFile"),
    ]
    path.write_bytes(pdf_file([item if isinstance(item, bytes) else item.encode() for item in objects]))


@pytest.fixture
def listener():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.setblocking(False)
        yield server


def test_nothing_is_followed_started_or_written(
    batch: Batch, tmp_path: Path, reader: Path, listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside, launched = tmp_path / "outside.jpg", tmp_path / "launched"
    shutil.copy(SAMPLES / "photo.jpg", outside)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/a"
    hostile_pdf(batch.docs / "hostile.pdf", url=url, outside=outside, launched=launched)
    for name in ("report.pdf", "fax.tiff", "photo.jpg"):
        shutil.copy(SAMPLES / name, batch.docs)
    whole = (SAMPLES / "scanned.pdf").read_bytes()
    (batch.docs / "repaired.pdf").write_bytes(whole.replace(b"startxref", b"startxxxx"))
    (batch.docs / "cut.pdf").write_bytes(whole[: len(whole) // 2])
    (batch.docs / "archive.zip").write_bytes(b"PK\x03\x04" + b"\0" * 60)
    (batch.docs / "drawing.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg"><image href="{url}"/></svg>'
    )
    for path in batch.docs.iterdir():
        path.chmod(0o444)
    batch.docs.chmod(0o555)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    before = listing(batch.docs)
    try:
        code = main(
            ["run", str(batch.docs), "--db", batch.database, "--model", str(reader), "--quiet", *SETS]
        )
        assert code in (ExitCode.OK, ExitCode.INCOMPLETE)
        assert listing(batch.docs) == before
    finally:
        batch.docs.chmod(0o755)
    assert os.listdir(here) == []
    assert not launched.exists()
    with pytest.raises(BlockingIOError):
        listener.accept()
    found = {(Path(row["path"]).name, row["page"]): row["status"] for row in rows(batch.database)}
    assert found["hostile.pdf", 1] == "doubtful"  # it has an XFA form, so its page may be a placeholder
    assert found["report.pdf", 3] == "ok"
    assert found["repaired.pdf", 1] == "ok"
    assert not {name for name, _ in found} & {"archive.zip", "drawing.svg", "inside.pdf"}


def test_a_stream_in_another_file_is_not_read(tmp_path: Path) -> None:
    """Its bytes are black; had it been opened, the picture on the page would be."""
    outside = tmp_path / "outside.raw"
    outside.write_bytes(bytes(64))
    hostile_pdf(
        tmp_path / "a.pdf", url="http://127.0.0.1:9/a", outside=outside, launched=tmp_path / "launched"
    )
    with pymupdf.open(tmp_path / "a.pdf") as document:
        pixmap = document[0].get_pixmap()
        assert not document.is_repaired
        assert document[0].get_text().strip() == "seen"
    assert pixmap.pixel(70, 230) == (128, 128, 128)
