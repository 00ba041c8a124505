"""Encodes real pages once and keeps them in a folder, so that programs and machines decode the same prompts:

python -m tests.benchmarks.prompts.real_pages FOLDER --pages 50

Needs the evaluation set (`python -m tests.benchmarks.quality build DIR --cache CACHE`) for all but the samples. An
existing folder is used as it is. Vision tokens are kept in bf16: runs in fp32 and in bf16 then start from the same
numbers.
"""

import argparse
import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from encoders.types import VisionTokens
from ocr.checkpoints import checkpoint
from ocr.checkpoints.checkpoint import LoadedModel
from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.settings import IngestSettings, RenderSettings, TileSettings
from pipeline.stages.discover import probe
from pipeline.stages.render import render
from pipeline.stages.tile import tile
from pipeline.types import Kind, Page, RenderedPage

SAMPLES = Path(__file__).parents[2] / "samples"
INDEX = "pages.json"
# Shares of 50 pages: PDFs of the evaluation set, its worn pictures of other pages with two real photographs of print,
# samples, and files of any kind.
BORN_DIGITAL, SCAN, SAMPLE, OTHER = "born-digital", "scan", "sample", "other"
_SHARES = {BORN_DIGITAL: 24, SCAN: 12, SAMPLE: 7, OTHER: 7}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One page of a file. group: one of those above. page_index: from 0."""

    name: str
    group: str
    path: Path
    page_index: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One input of the model: a page, or a crop of one. name: the page's with "#" and the crop's number."""

    name: str
    page: str
    group: str
    kind: Kind
    vision: VisionTokens

    def to(self, device: torch.device, dtype: torch.dtype) -> "Reading":
        """Returns the reading with its vision tokens there."""
        vision = VisionTokens(
            tokens_TD=self.vision.tokens_TD.to(device, dtype),
            num_local=self.vision.num_local,
            grid=self.vision.grid,
        )
        return Reading(
            name=self.name,
            page=self.page,
            group=self.group,
            kind=self.kind,
            vision=vision,
        )


def sources(quality: Path, packages: Path, others: Path, count: int) -> list[Source]:
    """Returns up to `count` pages of all groups, in the same order for every count of the same folders."""
    found = {
        BORN_DIGITAL: _born_digital(quality, packages),
        SCAN: [*_photographed(packages), *_worn(quality)],
        SAMPLE: of_folder(SAMPLES, SAMPLE),
        OTHER: of_folder(others, OTHER),
    }
    total = sum(_SHARES.values())
    chosen = {group: pages[: -(-_SHARES[group] * count // total)] for group, pages in found.items()}
    mixed = (page for pages in zip_longest(*chosen.values()) for page in pages if page is not None)
    return list(mixed)[:count]


def _born_digital(quality: Path, packages: Path) -> list[Source]:
    return [
        Source(
            name=f"{BORN_DIGITAL}/{name}",
            group=BORN_DIGITAL,
            path=packages / page["package"] / page["document"],
            page_index=page["page"] - 1,
        )
        for name, page in _text_pages(quality)[::2]
    ]


def _worn(quality: Path) -> list[Source]:
    """Returns worn pictures of pages that are not among the born-digital ones."""
    return [
        Source(name=f"{SCAN}/{name}", group=SCAN, path=quality / "degraded" / f"{name}.png")
        for name, _ in _text_pages(quality)[1::2]
    ]


def _photographed(packages: Path) -> list[Source]:
    """Returns scikit-image's two pictures of printed text, small and unevenly lit."""
    data = packages / "python3-skimage/usr/lib/python3/dist-packages/skimage/data"
    files = [data / name for name in ("page.png", "text.png")]
    return [Source(name=f"{SCAN}/{file.name}", group=SCAN, path=file) for file in files if file.is_file()]


def _text_pages(quality: Path) -> list[tuple[str, dict[str, Any]]]:
    """Returns the evaluation set's pages with text, one of each category after the other."""
    if not (quality / "manifest.json").is_file():
        return []
    pages: dict[str, dict[str, Any]] = json.loads((quality / "manifest.json").read_text(encoding="utf-8"))[
        "pages"
    ]
    categories: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for name, page in sorted(pages.items()):
        if page["category"] != "empty":
            categories.setdefault(page["category"], []).append((name, page))
    return [page for pages_ in zip_longest(*categories.values()) for page in pages_ if page is not None]


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


def build(loaded: LoadedModel, pages: Sequence[Source], folder: Path) -> None:
    """Writes each page's readings into the folder, and the index last. Existing pages stay."""
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for source in pages:
        file = folder / f"{source.name.replace('/', '--')}.safetensors"
        if not file.is_file():
            rendered = [page for page in [_rendered(source, folder)] if not page.blank]
            _write(loaded, source, rendered, file)
            print(f"{source.name}: {len(rendered)} readings", flush=True)
        names.append(file.name)
    (folder / INDEX).write_text(json.dumps(names, indent=1), encoding="utf-8")


def _rendered(source: Source, folder: Path) -> RenderedPage:
    path = source.path
    if path.suffix == ".gz":
        path = folder / "unpacked.pdf"
        path.write_bytes(gzip.decompress(source.path.read_bytes()))
    document = probe(str(path), IngestSettings())
    assert document.sha256 is not None, f"{path}: {document.reason}"
    assert document.kind is not None
    page = Page(path=str(path), sha256=document.sha256, kind=document.kind, page_index=source.page_index)
    layout, opened = TileSettings(), OpenDocuments()
    images = render([page], RenderSettings(), layout, opened)
    opened.close()
    return tile(images, layout)[0]


@torch.inference_mode()
def _write(loaded: LoadedModel, source: Source, rendered: Sequence[RenderedPage], file: Path) -> None:
    tensors, about = {}, []
    for number, page in enumerate(rendered):
        (vision,) = loaded.model.encoder.encode([page.views])
        tensors[f"{number}.tokens"] = vision.tokens_TD.to("cpu", torch.bfloat16).contiguous()
        about.append(
            {
                "name": source.name if len(rendered) == 1 else f"{source.name}#{number + 1}",
                "kind": page.page.kind,
                "num_local": vision.num_local,
                "grid": vision.grid,
            }
        )
    told = {**asdict(source), "path": str(source.path), "readings": about}
    save_file(tensors, file, {"about": json.dumps(told)})


def stored(folder: Path, count: int | None = None) -> Iterator[Reading]:
    """Yields the readings of the folder's first `count` pages, on the CPU."""
    names = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    for name in names[:count]:
        with safe_open(folder / name, "pt") as file:
            about = json.loads(file.metadata()["about"])
            for number, told in enumerate(about["readings"]):
                yield Reading(
                    name=told["name"],
                    page=about["name"],
                    group=about["group"],
                    kind=told["kind"],
                    vision=VisionTokens(
                        tokens_TD=file.get_tensor(f"{number}.tokens"),
                        num_local=told["num_local"],
                        grid=tuple(told["grid"]),
                    ),
                )


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that tell where pages come from."""
    parser.add_argument("--pages", type=int, default=50, help="how many (default: 50)")
    parser.add_argument("--quality", type=Path, default=Path("/tmp/quality"), help="the evaluation set")
    parser.add_argument("--packages", type=Path, default=Path("/tmp/quality-cache/pkg"), help="its packages")
    parser.add_argument("--others", type=Path, default=Path(".training/scratch/docs"), help="further files")


def reading_parser(module: str, description: str | None) -> argparse.ArgumentParser:
    """Returns the options of a program that reads these pages. module: its name below tests.benchmarks."""
    parser = argparse.ArgumentParser(
        prog=f"python -m tests.benchmarks.{module}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("output", type=Path, metavar="OUT.json")
    add_options(parser)
    parser.add_argument("--cache", type=Path, default=Path("/tmp/ocrbatch-readings"), help="encoded pages")
    parser.add_argument("--model", default="small")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16"))
    parser.add_argument("--cap", type=int, default=700, help="most tokens of a page or part (default: 700)")
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch (default: 1)")
    return parser


def ensure(folder: Path, args: argparse.Namespace) -> None:
    """Builds the folder if it is missing or not finished."""
    if (folder / INDEX).is_file() and len(json.loads((folder / INDEX).read_text())) >= args.pages:
        return
    loaded = checkpoint.load("small", device="cpu", dtype=torch.float32)
    build(loaded, sources(args.quality, args.packages, args.others, args.pages), folder)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.prompts.real_pages", description=__doc__
    )
    parser.add_argument("folder", type=Path)
    add_options(parser)
    args = parser.parse_args()
    ensure(args.folder, args)
    found = list(stored(args.folder, args.pages))
    print(f"{len({reading.page for reading in found})} pages, {len(found)} readings in {args.folder}")


if __name__ == "__main__":
    main()
