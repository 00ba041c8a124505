"""Builds the hostile inputs: file names that break programs, things that are no regular files, and all contents."""

import contextlib
import os
import random
import shutil
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

from tests.faults.files import hostile_images, hostile_pdfs
from tests.faults.rig.corpus import SAMPLES, text, write_pdf

GOOD = "good-"
_NUM_GOOD = 8
# Inputs that take a second or more to make or refuse; the short form leaves them out.
_SLOW = (
    "bomb", "60000-whole", "under-the-limit", "tree-deep", "frames-2000", "100000", "scans-many",
    "reference-chain",
)  # fmt: skip
NAMES = (
    b"line\nbreak.pdf", b"tab\tand return\r.pdf", b"\x1b[31mred\x1b]0;title\x07.pdf", b"-rf.pdf", b"--help.pdf",
    b" spaces at both ends .pdf ", b"two  spaces.pdf", b"quote'\"`.pdf", b"$(touch pwned);touch pwned.pdf",
    b"%s%n%x{0.__class__}.pdf", b"back\\slash.pdf", b"<script>alert(1).pdf", b"[a]*?{b}.pdf",
    b"\x01\x02\x7f.pdf",
    "snow\u2603 and \U0001f600.pdf".encode(), "e\u0301 and \xe9.pdf".encode(), "right\u202eto left.pdf".encode(),
    b"n" * 251 + b".pdf", b"con.pdf", b"UPPER.PDF", b"not utf8 \xff\xfe.pdf",
    b"not utf8 \xfd\xfe.pdf", b"latin \xe9.png",
    "\u2028separator\x85.pdf".encode(), b"no suffix at all", b"; DROP TABLE pages;--.pdf", b"#fragment?query=1.pdf",
)  # fmt: skip


def build(folder: Path, *, seed: int = 0, quick: bool = False, every: int = 1) -> int:
    """Fills a new folder and returns how many hostile inputs it holds; good documents, named good-..., lie among them.

    quick: without inputs that take long to inspect. every: takes one in this many of the files made for their content.
    """
    folder.mkdir(parents=True)
    chosen = [found for found in contents(seed) if not quick or _is_quick(found[1])][::every]
    count = sum(_write(folder / group / name, data) for group, name, data in chosen)
    count += sum(1 for _ in _named(folder / "names"))
    count += sum(1 for _ in _special(folder / "special"))
    _good(folder, seed)
    return count


def contents(seed: int) -> Iterator[tuple[str, str, bytes]]:
    """Yields hostile content: group, file name, bytes. The same seed makes the same."""
    for name, data in hostile_pdfs.crafted():
        yield "pdfs", name, data
    for name, data in hostile_images.crafted():
        yield "images", name, data
    yield from _mutated(seed)
    for name, data in _misnamed():
        yield "misnamed", name, data


def inputs(folder: Path) -> list[bytes]:
    """Returns the paths of everything in the folder except folders, in order; links are not followed."""
    found = []
    for top, folders, files in os.walk(os.fsencode(folder)):
        linked = [name for name in folders if os.path.islink(os.path.join(top, name))]
        found += [os.path.join(top, name) for name in (*files, *linked)]
    return sorted(found)


def _is_quick(name: str) -> bool:
    return not any(word in name for word in _SLOW)


def _write(path: Path, data: bytes) -> int:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return 1


def _mutated(seed: int) -> Iterator[tuple[str, str, bytes]]:
    chance = random.Random(seed)
    bases = {name: (SAMPLES / name).read_bytes() for name in ("report.pdf", "two-column.pdf", "scanned.pdf")}
    images = {f"noise.{suffix}": data for suffix, data in hostile_images.good(chance).items()}
    for group, found, rounds in (("damaged-pdfs", bases, 3), ("damaged-images", images, 1)):
        for base, data in found.items():
            for name, mutate in hostile_pdfs.MUTATIONS.items():
                for number in range(rounds):
                    other = chance.choice(list(found.values()))
                    stem, _, suffix = base.partition(".")
                    yield group, f"{stem}-{name}-{number}.{suffix}", mutate(data, other, chance)


def _misnamed() -> Iterator[tuple[str, bytes]]:
    chance = random.Random(7)
    samples = {path.suffix[1:]: path.read_bytes() for path in SAMPLES.iterdir()}
    # One more line: otherwise they would be copies of good documents.
    yield "png.pdf", samples["png"] + b"\n%1"
    yield "pdf.png", samples["pdf"] + b"\n%2"
    yield "jpg.tiff", samples["jpg"] + b"\n%3"
    yield "pdf.txt", samples["pdf"] + b"\n%4"
    yield "pdf", samples["pdf"] + b"\n%5"
    for suffix in ("pdf", "png", "jpg", "tiff", "gif", "webp", "bmp", "jp2"):
        yield f"empty.{suffix}", b""
    yield "zeros.pdf", bytes(1 << 20)
    yield "zeros.png", bytes(100)
    yield "noise.pdf", chance.randbytes(50_000)
    yield "noise.jpg", chance.randbytes(50_000)
    yield "one-byte.pdf", b"%"
    yield "page.pdf", b"<!DOCTYPE html><html><body>404 Not Found</body></html>"
    yield "archive.pdf", b"PK\x03\x04" + chance.randbytes(500)
    yield "program.png", b"\x7fELF" + chance.randbytes(500)
    yield "database.pdf", b"SQLite format 3\0" + bytes(84)
    yield "text.tiff", "plain text, \u00fcber".encode()
    yield "riff.webp", b"RIFF\xff\xff\xff\x7fWEBPVP8 " + bytes(30)
    yield "both-image-and-pdf.png", samples["png"] + hostile_pdfs.page()
    yield "both-archive-and-pdf.pdf", hostile_pdfs.page(tail_comment()) + b"PK\x05\x06" + bytes(18)
    yield "fifty-headers.pdf", b"%PDF-1.7\n" * 50 + hostile_pdfs.page()


def tail_comment() -> bytes:
    """Returns content that no other file has: equal files are read once."""
    return b"BT /F1 18 Tf 40 200 Td (both) Tj ET"


def _named(folder: Path) -> Iterator[Path]:
    """Writes documents under names that are hard to handle, readable and broken ones; a run prints the latter."""
    folder.mkdir()
    (folder / "broken").mkdir()
    deep = folder / "/".join(["d" * 200] * 4)
    deep.mkdir(parents=True)
    for number, name in enumerate(NAMES):
        plain = write_pdf(folder / "plain.pdf", [f"name {number}"])
        target = os.path.join(os.fsencode(folder), name)
        os.rename(plain, target)
        yield Path(os.fsdecode(target))
        broken = Path(os.fsdecode(os.path.join(os.fsencode(folder / "broken"), name)))
        broken.write_bytes(b"%%PDF-1.7\nbroken %d" % number)
        yield broken
    yield write_pdf(deep / "deep.pdf", ["deep"])
    (folder / "folder.pdf").mkdir()
    yield write_pdf(folder / "folder.pdf" / "within.pdf", ["within"])


def _special(folder: Path) -> Iterator[Path]:
    """Creates inputs that are no regular files, or may not be read.

    Those that this user may not create are left out.
    """
    folder.mkdir()
    os.mkfifo(folder / "pipe.pdf")
    with socket.socket(socket.AF_UNIX) as server, _inside(folder):
        server.bind("socket.pdf")
    links = {
        "zero.png": "/dev/zero", "terminal.pdf": "/dev/tty", "memory.pdf": "/proc/self/mem", "itself.pdf": "itself.pdf",
        "nowhere.pdf": "no such file",
        "parent": "..", "a.pdf": "b.pdf", "b.pdf": "a.pdf", "descriptor.pdf": "/dev/stdin",
        "system": "/proc/self/fd",
    }  # fmt: skip
    for name, target in links.items():
        (folder / name).symlink_to(target)
    yield from (folder / name for name in ("pipe.pdf", "socket.pdf", *links))
    for name, kind, device in (
        ("null.pdf", stat.S_IFCHR, (1, 3)),
        ("random.png", stat.S_IFCHR, (1, 8)),
        ("disk.pdf", stat.S_IFBLK, (7, 99)),
    ):
        with contextlib.suppress(PermissionError):
            os.mknod(folder / name, 0o666 | kind, os.makedev(*device))
            yield folder / name
    unreadable = write_pdf(folder / "unreadable.pdf", ["secret"])
    unreadable.chmod(0)
    yield unreadable
    closed = folder / "closed"
    yield write_pdf(closed / "within.pdf", ["closed"])
    closed.chmod(0)
    sparse = folder / "sparse.pdf"
    with sparse.open("wb") as file:
        file.write(b"%PDF-1.7\n")
        file.truncate(256 << 20)
    yield sparse


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = os.getcwd()  # the path of a socket has at most 108 bytes
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _good(folder: Path, seed: int) -> None:
    """Writes readable documents into every folder that may be entered, and the samples."""
    chance = random.Random(seed + 1)
    for sample in SAMPLES.iterdir():
        shutil.copyfile(sample, folder / f"{GOOD}{sample.name}")
    folders = [path for path in sorted(folder.iterdir()) if path.is_dir()]
    for number in range(_NUM_GOOD):
        texts = [f"document {number}\n{text(chance)}" for _ in range(3)]
        write_pdf(folders[number % len(folders)] / f"{GOOD}{number}.pdf", texts)
