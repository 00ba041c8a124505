"""Pages are drawn again, upright and small, in other processes, and only from what was read."""

import hashlib
import io
import shutil
from pathlib import Path

import pymupdf
from PIL import Image

from pipeline.config.schema import Config
from pipeline.html_report.thumbnails import SIDE_PX, thumbnails
from storage.queries.run_pages import PageOutcome, PagePlace

SAMPLES = Path(__file__).parents[2] / "samples"


def outcome(page_id: int, rotation_deg: int = 0) -> PageOutcome:
    return PageOutcome(
        page_id=page_id,
        status="ok",
        stage=None,
        category=None,
        reason=None,
        seconds=1.0,
        num_attempts=1,
        confidence=0.5,
        num_tokens=0,
        source="ocr",
        rotation_deg=rotation_deg,
        finished_at="2026-01-01T00:00:00+00:00",
    )


def place(path: Path, state: str = "there", page_index: int = 0, kind: str | None = None) -> PagePlace:
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    kind = kind or ("pdf" if path.suffix == ".pdf" else "image")
    return PagePlace(path=str(path), sha256=sha256, kind=kind, page_index=page_index, state=state)


def test_pages_have_pictures_or_a_reason(tmp_path: Path) -> None:
    changed, gone, broken = tmp_path / "changed.png", tmp_path / "gone.pdf", tmp_path / "broken.pdf"
    shutil.copy(SAMPLES / "letter.png", changed)
    shutil.copy(SAMPLES / "report.pdf", gone)
    broken.write_bytes(b"%PDF-1.7 nothing")
    places = {
        1: place(SAMPLES / "report.pdf", page_index=2),
        2: place(SAMPLES / "photo.jpg"),
        3: place(changed),
        4: place(gone),
        5: place(broken),
        6: place(SAMPLES / "report.pdf", state="missing"),
        7: place(SAMPLES / "report.pdf", state="superseded"),
        8: place(SAMPLES / "report.pdf", page_index=99),
        9: place(SAMPLES / "report.pdf", kind="video"),
    }
    Image.new("RGB", (10, 10)).save(changed)
    gone.unlink()
    found = thumbnails([outcome(page_id) for page_id in places], places, Config())
    assert [page_id for page_id, one in found.items() if one.jpeg is not None] == [1, 2]
    for page_id in (1, 2):
        with Image.open(io.BytesIO(found[page_id].jpeg or b"")) as picture:
            assert (picture.format, max(picture.size)) == ("JPEG", SIDE_PX)
    assert {page_id: found[page_id].reason for page_id in (3, 6, 7)} == {
        3: "the file holds something else now",
        6: "the file is not there any more",
        7: "the file holds something else now",
    }
    assert "No such file" in found[4].reason
    assert "damaged" in found[5].reason
    assert all(found[page_id].reason for page_id in (8, 9))


def test_an_encrypted_page_is_drawn_with_the_run_s_password(tmp_path: Path) -> None:
    path, passwords = tmp_path / "locked.pdf", tmp_path / "passwords"
    with pymupdf.open() as document:
        document.new_page()
        document.save(path, encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="secret", owner_pw="other")
    passwords.write_text("secret\n")
    passwords.chmod(0o600)
    config = Config(ingest={"password_file": str(passwords)})
    assert thumbnails([outcome(1)], {1: place(path)}, config)[1].jpeg is not None
    assert "password" in thumbnails([outcome(1)], {1: place(path)}, Config())[1].reason
