"""Measures how often pages are turned correctly, and what detecting the turn costs.

python -m tests.benchmarks.pages.orientation_figures QUALITY_DIR [PDF_DIR] [--json FILE] [--sample N] [--minutes M]

QUALITY_DIR: the evaluation set (`python -m tests.benchmarks.quality build QUALITY_DIR --cache CACHE`), each page at 150
and 200 dpi and worn, upright and turned three ways; so are tests/samples. PDF_DIR: PDFs whose pages are upright (all
of them, sideways tables too, must stay as they are by definition), each as drawn and worn in one way: any turn is a
false one. All are examined as a run examines scans, by their pixels.

right: turned correctly. not sure: left as it is, with a turn that a second reading would try. wrong: turned
otherwise, or a turned page taken for upright. Pages without text are right as they are. Times are CPU milliseconds of
the detection alone, which takes one thread.
"""

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image

from ocr.orientation.detect import ANGLES, Angle
from pipeline.documents import orientation
from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.settings import IngestSettings, RenderSettings, TileSettings
from pipeline.stages.discover import probe
from pipeline.stages.render import PageImage, render
from pipeline.types import Document, Page
from tests.benchmarks.quality.sets.wear import KINDS, degrade

SAMPLES = Path(__file__).parents[2] / "samples"
Verdict = Literal["right", "not sure", "wrong"]
VERDICTS: tuple[Verdict, ...] = ("right", "not sure", "wrong")
WITHOUT_TEXT, DOCUMENTS = "empty", "documents"
_CLEAN = {"150dpi": "150 dpi", "200dpi": "200 dpi"}
_AS_DRAWN = RenderSettings(orientation="off")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One page of a file. group: a category, or what kind of folder it is in. page_index: from 0."""

    name: str
    group: str
    path: Path
    page_index: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A page to examine. conditions: of the picture, such as "200 dpi"; wear: a kind to add for a second look."""

    source: Source
    conditions: tuple[str, ...]
    angles: tuple[Angle, ...] = ANGLES
    wear: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The result on one picture. turn_deg: the clockwise turn it needs. cpu_s: of the detection."""

    name: str
    kind: str
    conditions: tuple[str, ...]
    turn_deg: Angle
    found_deg: Angle
    runner_up_deg: Angle | None
    cpu_s: float

    @property
    def verdict(self) -> Verdict:
        should_turn = self.turn_deg if self.kind != WITHOUT_TEXT else 0
        if self.found_deg != should_turn and self.found_deg:
            return "wrong"
        if self.runner_up_deg is not None:
            return "not sure"
        return "right" if self.found_deg == should_turn else "wrong"

    @property
    def is_false_turn(self) -> bool:
        """Returns whether an upright page was turned."""
        return bool(self.found_deg) and (self.turn_deg == 0 or self.kind == WITHOUT_TEXT)


def of_quality(folder: Path) -> list[Sheet]:
    """Returns the evaluation set's pages, each three times. Raises OSError if there are none."""
    pages = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["pages"]
    return [
        Sheet(
            source=Source(
                name=f"{where}/{name}", group=page["category"], path=folder / where / f"{name}.png"
            ),
            conditions=(_CLEAN[where],) if where in _CLEAN else tuple(page["degraded"]),
        )
        for name, page in sorted(pages.items())
        for where in (*_CLEAN, "degraded")
    ]


def of_folder(folder: Path, group: str) -> list[Source]:
    """Returns every page of every readable file: first pages first, and kinds of files in turn."""
    kinds: dict[str, list[Source]] = {}
    for path in sorted(folder.glob("*")):
        document = probe(str(path), IngestSettings())
        for index in range(document.num_pages if document.status == "ok" else 0):
            name = f"{group}/{path.name}-{index + 1}"
            source = Source(name=name, group=group, path=path, page_index=index)
            kinds.setdefault(path.suffix, []).append(source)
    first_pages_first = [sorted(found, key=lambda source: source.page_index) for found in kinds.values()]
    return [source for found in zip_longest(*first_pages_first) for source in found if source is not None]


def of_pdfs(folder: Path) -> list[Sheet]:
    """Returns every page of every PDF, upright; all kinds of wear take turns."""
    sources = [source for source in of_folder(folder, DOCUMENTS) if source.path.suffix == ".pdf"]
    kinds = list(KINDS)
    return [
        Sheet(source=source, conditions=("as drawn",), angles=(0,), wear=kinds[number % len(kinds)])
        for number, source in enumerate(sources)
    ]


def looks(sheets: Iterable[Sheet]) -> Iterator[Look]:
    """Yields the result for every sheet, turned by each of its angles."""
    opened = OpenDocuments()
    for sheet in sheets:
        page = _drawn(sheet.source, opened)
        yield from (_look(sheet, page, page.pixels, sheet.conditions, angle) for angle in sheet.angles)
        if sheet.wear is not None:
            image = Image.fromarray(page.pixels).convert("L")
            grey = np.asarray(degrade(image, image, (sheet.wear,), sheet.source.name))
            yield from (_look(sheet, page, grey, (sheet.wear,), angle) for angle in sheet.angles)
    opened.close()


def _drawn(source: Source, opened: OpenDocuments) -> PageImage:
    """Returns the page as its file has it."""
    document = _probed(source.path)
    assert document.sha256 is not None, f"{source.path}: {document.reason}"
    assert document.kind is not None
    page = Page(
        path=str(source.path), sha256=document.sha256, kind=document.kind, page_index=source.page_index
    )
    return render(page, _AS_DRAWN, TileSettings(), opened)


@cache
def _probed(path: Path) -> Document:
    return probe(str(path), IngestSettings())


def _look(
    sheet: Sheet, page: PageImage, pixels: np.ndarray, conditions: tuple[str, ...], turn_deg: Angle
) -> Look:
    shown = np.ascontiguousarray(np.rot90(pixels, turn_deg // 90))
    began = time.process_time()
    found = orientation.seen(shown, RenderSettings(), blank=page.blank)
    return Look(
        name=sheet.source.name,
        kind=WITHOUT_TEXT if page.blank else sheet.source.group,
        conditions=conditions,
        turn_deg=turn_deg,
        found_deg=found.angle_deg,
        runner_up_deg=found.runner_up_deg,
        cpu_s=time.process_time() - began,
    )


def table(found: Sequence[Look]) -> Iterator[str]:
    """Yields lines: each verdict by angle, kind of page and condition, then false turns and times."""
    text = [look for look in found if look.kind != WITHOUT_TEXT]
    columns = {
        "needs a turn by": [(f"{look.turn_deg} degrees", look) for look in text],
        "kind": [(look.kind, look) for look in found],
        "condition": [(condition, look) for look in text for condition in look.conditions],
    }
    for title, named in columns.items():
        yield f"{title:18}" + "".join(f"{verdict:>10}" for verdict in VERDICTS)
        for name in sorted({name for name, _ in named}):
            counts = Counter(look.verdict for of, look in named if of == name)
            yield f"{name:18}" + "".join(f"{counts[verdict]:10}" for verdict in VERDICTS)
        yield ""
    upright = [look for look in text if look.turn_deg == 0]
    empty = [look for look in found if look.kind == WITHOUT_TEXT]
    for name, of in (("upright pages", upright), ("pages without text", empty)):
        num_pages = len({look.name.rpartition("/")[2] for look in of})
        num_turned = sum(look.is_false_turn for look in of)
        yield f"false turns of {name}: {num_turned} of {len(of)} pictures of {num_pages} pages"
    for name, of in (("upright", upright), ("turned", [look for look in text if look.turn_deg])):
        milliseconds = [1e3 * look.cpu_s for look in of] or [float("nan")]
        median, late = np.percentile(milliseconds, (50, 95))
        yield f"{name} pages: median {median:.1f} ms, 95th percentile {late:.1f} ms of CPU"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.pages.orientation_figures",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("quality", type=Path, metavar="QUALITY_DIR")
    parser.add_argument("pdfs", type=Path, metavar="PDF_DIR", nargs="?")
    parser.add_argument("--json", type=Path, help="every look, as a list")
    parser.add_argument("--sample", type=int, help="only so many pages of either folder, the same each time")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="then end with what there is")
    args = parser.parse_args(arguments)
    samples = [Sheet(source=source, conditions=("sample",)) for source in of_folder(SAMPLES, "sample")]
    sets = [of_quality(args.quality), of_pdfs(args.pdfs) if args.pdfs else []]
    for sheets in sets:
        random.Random(0).shuffle(sheets)
    chosen = [*samples, *(sheet for sheets in sets for sheet in sheets[: args.sample])]
    found: list[Look] = []
    ends = time.monotonic() + 60 * args.minutes
    for look in looks(chosen):
        found.append(look)
        if look.verdict != "right":
            print(f"{look.verdict}: {look}", flush=True)
        if time.monotonic() > ends:
            break
    print("\n".join(table(found)))
    if args.json:
        args.json.write_text(json.dumps([asdict(look) for look in found], indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
