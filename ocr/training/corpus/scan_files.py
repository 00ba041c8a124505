"""Real scans with their transcriptions, out of bare git copies of the repositories of scans.yaml.

pages/*.webp are grey and no larger than a reader needs; index.json has each page's lines with their places and texts.
A line's baseline and type size are what the shipped line finder sees of it, as transcriptions have but rough baselines
and no sizes. Lines that the shipped reader reads quite otherwise are kept as lines without a text.
"""

import io
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import yaml
from PIL import Image, UnidentifiedImageError

from ocr.line_reader.reading import LineReader
from ocr.training.corpus.packages import CorpusError
from ocr.training.corpus.scan_lines import ScanLine, placed, transcribed_lines

TABLE = Path(__file__).with_name("scans.yaml")
_PICTURES = (".jpg", ".jpeg", ".png", ".tif", ".tiff")
_LONG_PX, _TYPE_PX = 2048, 26.0  # a page is reduced to at most so many pixels, and to type of this size
_QUALITY = 38
_LEAST_LINES = 4
_VALID = 12  # every so manieth page is held out


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanSource:
    """One repository, as scans.yaml has it."""

    repository: str
    commit: str
    licence: str
    kind: str
    most: int
    folders: tuple[str, ...] = ()
    kept_out: tuple[str, ...] = ()

    def takes(self, path: str) -> bool:
        """Returns whether a transcription may be trained on."""
        return path.startswith(self.folders or "") and not path.startswith(self.kept_out)


def load_scan_sources(path: Path = TABLE) -> list[ScanSource]:
    """Returns the sources of a YAML table. Raises CorpusError for an unknown kind."""
    found = []
    for entry in yaml.safe_load(path.read_text(encoding="utf-8"))["sources"]:
        if entry["kind"] not in ("print", "handwriting"):
            raise CorpusError(f"{path.name}: {entry['repository']}: kind is print or handwriting")
        paths = {name: tuple(entry.get(name, ())) for name in ("folders", "kept_out")}
        found.append(ScanSource(**{**entry, **paths}))
    return found


def build_scans(sources: list[ScanSource], mirrors: Path, out: Path, reader: LineReader) -> dict[str, object]:
    """Writes out/pages and out/index.json; returns what the manifest says of them. Raises CorpusError."""
    (out / "pages").mkdir(parents=True, exist_ok=True)
    index: list[dict[str, object]] = []
    told: dict[str, object] = {}
    for source in sources:
        added = 0
        for path, picture, lines in _pages(source, mirrors, reader):
            file = f"pages/{len(index):03}.webp"
            (out / file).write_bytes(picture)
            index.append(
                {
                    "file": file,
                    "kind": source.kind,
                    "split": "valid" if len(index) % _VALID == _VALID - 1 else "train",
                    "source": f"{source.repository}:{path}",
                    "lines": [line.listed() for line in lines],
                }
            )
            added += 1
        told[source.repository] = {"commit": source.commit, "licence": source.licence, "pages": added}
        print(source.repository, added, "pages", flush=True)
    (out / "index.json").write_text(json.dumps(index, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
    return told


def _pages(
    source: ScanSource, mirrors: Path, reader: LineReader
) -> Iterator[tuple[str, bytes, list[ScanLine]]]:
    """Yields pages at even distances: path of the transcription, picture as WebP, lines."""
    mirror = mirrors / source.repository.replace("/", "+") / "repo"
    listed = _git(mirror, "ls-tree", "-r", "-z", "--name-only", source.commit).decode().split("\0")
    pictures: Mapping[str, str] = {Path(p).stem: p for p in listed if p.lower().endswith(_PICTURES)} | {
        p.rsplit(".", 1)[0]: p for p in listed if p.lower().endswith(_PICTURES)
    }
    paths = [p for p in sorted(listed) if p.endswith(".xml") and source.takes(p) and _picture(pictures, p)]
    paths = [p for p in paths if _is_there(mirror, f"{source.commit}:{_picture(pictures, p)}")]
    step = max(1.0, len(paths) / source.most)
    for path in [paths[int(n * step)] for n in range(min(source.most, len(paths)))]:
        try:
            lines = transcribed_lines(_git(mirror, "show", f"{source.commit}:{path}"))
            content = _git(mirror, "show", f"{source.commit}:{_picture(pictures, path)}")
            picture = Image.open(io.BytesIO(content)).convert("L")
        except (ET.ParseError, UnidentifiedImageError, CorpusError) as error:
            print(f"{path} is left out: {error}", file=sys.stderr)
            continue
        found = placed(np.asarray(picture), lines, reader, handwriting=source.kind == "handwriting")
        kept = [line for line in found if line.kind != "unsure"]
        if len(kept) < _LEAST_LINES:
            print(f"{path} is left out: {len(kept)} of {len(lines)} lines are sure", file=sys.stderr)
            continue
        yield path, *_reduced(picture, found)


def _reduced(picture: Image.Image, lines: list[ScanLine]) -> tuple[bytes, list[ScanLine]]:
    """Returns the page as small as a reader needs it, as WebP, and its lines there."""
    usual = float(np.median([line.place.size for line in lines]))
    factor = min(1.0, _TYPE_PX / usual, _LONG_PX / max(picture.size))
    size = round(picture.width * factor), round(picture.height * factor)
    out = io.BytesIO()
    picture.resize(size, Image.Resampling.LANCZOS).save(out, "WEBP", quality=_QUALITY, method=6)
    return out.getvalue(), [line.scaled(factor) for line in lines]


def _picture(pictures: Mapping[str, str], path: str) -> str | None:
    return pictures.get(path.rsplit(".", 1)[0]) or pictures.get(Path(path).stem)


def _is_there(mirror: Path, name: str) -> bool:
    """Returns whether a mirror has a file: its largest ones may be listed only."""
    return (
        subprocess.run(["git", "-C", str(mirror), "cat-file", "-e", name], capture_output=True).returncode
        == 0
    )


def _git(mirror: Path, *arguments: str) -> bytes:
    try:
        return subprocess.run(["git", "-C", str(mirror), *arguments], capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise CorpusError(f"{mirror} lacks {arguments[-1]}: {error}") from error
