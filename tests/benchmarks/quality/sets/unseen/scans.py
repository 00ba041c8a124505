"""Reads scans and their transcriptions (ALTO or PAGE XML) out of bare git mirrors."""

import html
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.quality.sets.layout import QualityError

_PICTURES = (".jpg", ".jpeg", ".png", ".tif", ".tiff")
_HANDWRITTEN = "~~~"  # tapuscorpus: a word that is not typed
_MOST_HANDWRITTEN = 2
_MIN_CHARACTERS = 80
_ROW = 0.6  # lines whose middles are nearer than this many line heights stand in one row
_MOST_SHARED_ROWS = 0.3  # more rows than this with two lines: columns, whose order the transcriber gave


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLine:
    """A transcribed line. left, middle, height: of its box or baseline, in pixels."""

    text: str
    left: float
    middle: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedPage:
    """A page of a mirror. path: of its transcription. suffix: of the picture's file, with the dot."""

    path: str
    suffix: str
    picture: bytes
    truth: str


class Mirror:
    """A bare git copy of a repository, read at one commit."""

    def __init__(self, folder: Path, commit: str) -> None:
        self._folder, self._commit = folder, commit
        listed = self._git("ls-tree", "-r", "-z", "--name-only", commit).decode()
        self.paths = sorted(path for path in listed.split("\0") if path)
        pictures = [path for path in self.paths if path.lower().endswith(_PICTURES)]
        # Beside its transcription, or in a folder of its own under the same name.
        self._pictures: Mapping[str, str] = {Path(path).stem: path for path in pictures} | {
            path.rsplit(".", 1)[0]: path for path in pictures
        }

    def pages(self, document: str, most: int | None = None, *, rows: bool = False) -> list[ScannedPage]:
        """Returns the sound pages whose transcriptions' paths begin with `document`; `most` at even distances.

        rows: order lines row by row where the page is one column; else as transcribed.
        Raises QualityError if there are none.
        """
        found = list(self._sound(document, rows=rows))
        if not found:
            raise QualityError(f"{self._folder}: no page of {document!r} has a picture and a transcription")
        if most is None or most >= len(found):
            return found
        return [found[index * len(found) // most] for index in range(most)]

    def read(self, path: str) -> bytes:
        return self._git("show", f"{self._commit}:{path}")

    def _sound(self, document: str, *, rows: bool) -> Iterator[ScannedPage]:
        for path in self.paths:
            picture = self._pictures.get(path.rsplit(".", 1)[0]) or self._pictures.get(Path(path).stem)
            if not path.endswith(".xml") or not path.startswith(document) or picture is None:
                continue
            lines = text_lines(self.read(path).decode("utf-8", errors="replace"))
            if sum(_HANDWRITTEN in line.text for line in lines) > _MOST_HANDWRITTEN:
                continue
            truth = page_text(in_rows(lines) if rows else lines)
            if len(truth) < _MIN_CHARACTERS:
                continue
            try:
                content = self.read(picture)
            except QualityError:  # the mirror lacks its largest files
                continue
            suffix = Path(picture).suffix.lower().replace(".jpeg", ".jpg")
            yield ScannedPage(path=path, suffix=suffix, picture=content, truth=truth)

    def _git(self, *arguments: str) -> bytes:
        command = ["git", "-C", str(self._folder), *arguments]
        try:
            return subprocess.run(command, capture_output=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError) as error:
            raise QualityError(f"{self._folder} is no mirror with {self._commit}: {error}") from error


def text_lines(xml: str) -> list[TextLine]:
    """Returns the transcribed lines of ALTO or PAGE XML, in the order of the file."""
    lines = []
    for attributes, body in re.findall(r"<TextLine\b([^>]*)>(.*?)</TextLine>", xml, re.DOTALL):
        alto = re.findall(r'<String\b[^>]*?\bCONTENT="([^"]*)"', body, re.DOTALL)
        page = re.findall(r"<TextEquiv[^>]*>\s*(?:<PlainText>.*?</PlainText>\s*)?<Unicode>([^<]*)", body)
        text = html.unescape(" ".join(alto) if alto else (page[-1] if page else ""))
        text = _plain(text)
        if text:
            lines.append(_placed(text, attributes, body))
    return lines


def in_rows(lines: list[TextLine]) -> list[TextLine]:
    """Returns the lines row by row, left to right, unless many rows hold several: then as they were."""
    if not lines:
        return lines
    near = _ROW * sorted(line.height for line in lines)[len(lines) // 2]
    rows: list[list[TextLine]] = []
    for line in sorted(lines, key=lambda line: line.middle):
        if rows and line.middle - rows[-1][0].middle < near:
            rows[-1].append(line)
        else:
            rows.append([line])
    if sum(len(row) > 1 for row in rows) > _MOST_SHARED_ROWS * len(rows):
        return lines
    return [line for row in rows for line in sorted(row, key=lambda line: line.left)]


def page_text(lines: list[TextLine]) -> str:
    """Returns the page's text; lines of one row are parted by a space."""
    out: list[str] = []
    for index, line in enumerate(lines):
        before = lines[index - 1] if index else None
        same = before and abs(line.middle - before.middle) < _ROW * min(line.height, before.height)
        out.append((" " if same and before and line.left > before.left else "\n") + line.text)
    return "".join(out).replace(_HANDWRITTEN, "").strip()


def _plain(text: str) -> str:
    """Returns a line without the transcribers' signs of underlining and raised letters, with their hyphens as such."""
    text = re.sub(r"(?<!\S)_(?=\S)|[\^⟦⟧]", "", text.replace(_HANDWRITTEN, f" {_HANDWRITTEN} "))
    text = re.sub(r"-?¬", "-", text)
    return " ".join(text.split())


def _placed(text: str, attributes: str, body: str) -> TextLine:
    points = re.search(r'(?:BASELINE|<Baseline points)="([^"]*)"', attributes + body)
    outline = re.search(r'<(?:Polygon POINTS|Coords points)="([^"]*)"', body)
    line, around = _numbers(points[1] if points else ""), _numbers(outline[1] if outline else "")
    tall = re.search(r'\bHEIGHT="([\d.]+)"', attributes)
    ys = around[1::2]
    height = max(ys) - min(ys) if ys else float(tall[1]) if tall else 40.0
    if not line:
        line = around or [0.0, 0.0]
    return TextLine(text=text, left=min(line[0::2]), middle=sum(line[1::2]) / len(line[1::2]), height=height)


def _numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", text)]
