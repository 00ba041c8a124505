"""Builds the corpus of pictures without letters: clutter on pages of text, and pages whose right answer is empty."""

import hashlib
import io
import itertools
import random
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml
from PIL import Image, ImageFile

from ocr.training.corpus.extract import files
from ocr.training.corpus.packages import Package

SIDES_PX = (160, 640)  # the least of a picture, and the most of one that is kept
MAX_BYTES = 48_000
QUALITY = 60
_SEED = 20260


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureSource:
    """Files of one package, at most `most` of them.

    left_out: path endings (with * and ?) of files that show letters; no others replace them, so that a table whose
    pictures were inspected stays inspected.
    """

    package: str
    files: Sequence[str]
    most: int
    left_out: Sequence[str] = ()


def load_sources(path: Path) -> list[PictureSource]:
    """Returns the sources of a YAML table."""
    return [PictureSource(**entry) for entry in yaml.safe_load(path.read_text(encoding="utf-8"))["sources"]]


def build_pictures(
    sources: Sequence[PictureSource], packages: Mapping[str, Package], out: Path, *, budget_bytes: int
) -> list[dict[str, object]]:
    """Writes JPEG files to `out` until the budget is full; returns the index entries. Sources take turns.

    An entry holds file, package, licence, source (path in the package), width and height in px.
    """
    streams = [_pictures(source, packages[source.package].root) for source in sources]
    out.mkdir(parents=True, exist_ok=True)
    index: list[dict[str, object]] = []
    seen: set[bytes] = set()
    used = 0
    for turn in itertools.zip_longest(*streams):
        for source, found in zip(sources, turn, strict=True):
            if found is None:
                continue
            name, image = found
            data = encode(image)
            digest = hashlib.sha256(data).digest()
            if digest in seen or len(data) > MAX_BYTES or used + len(data) > budget_bytes:
                continue
            seen.add(digest)
            used += len(data)
            file = f"{len(index):04d}.jpg"
            (out / file).write_bytes(data)
            index.append(
                {
                    "file": file,
                    "package": source.package,
                    "licence": packages[source.package].licence,
                    "source": name,
                    "width": image.width,
                    "height": image.height,
                }
            )
    return index


def encode(image: Image.Image) -> bytes:
    """Returns the picture as JPEG without metadata."""
    out = io.BytesIO()
    image.save(out, "JPEG", quality=QUALITY, optimize=True)
    return out.getvalue()


def _pictures(source: PictureSource, root: Path) -> Iterator[tuple[str, Image.Image]]:
    """Yields (path in the package, picture), file by file in a seeded random order."""
    chosen = [path for path in files(root, source.files) if _fits(path)]
    random.Random(_SEED).shuffle(chosen)
    for path in chosen[: source.most]:
        if any(path.match(pattern) for pattern in source.left_out):
            continue
        with Image.open(path) as opened:
            image = on_white(opened)
        if image is not None and varied(image):
            image.thumbnail((SIDES_PX[1], SIDES_PX[1]), Image.Resampling.LANCZOS)
            yield path.relative_to(root).as_posix(), image


def _fits(path: Path) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            with Image.open(path) as opened:
                return min(opened.size) >= SIDES_PX[0]
        except Image.DecompressionBombWarning:
            return False


def on_white(opened: ImageFile.ImageFile | Image.Image) -> Image.Image | None:
    """Returns the picture in grey on white, cut to its opaque part; None if that is too small."""
    if isinstance(opened, ImageFile.ImageFile):
        opened.draft("L", (1600, 1600))  # JPEG decodes faster at a fraction of its size
    if opened.mode in ("L", "RGB"):
        image = opened.convert("L")
    else:
        clear = opened.convert("RGBA").convert("LA")
        clear = clear.crop(clear.getchannel("A").getbbox())
        image = Image.new("L", clear.size, 255)
        image.paste(clear.getchannel("L"), (0, 0), clear.getchannel("A"))
    return image if min(image.size) >= SIDES_PX[0] else None


def varied(image: Image.Image) -> bool:
    """Returns whether the picture shows anything: grey levels spread by more than 6."""
    return float(np.asarray(image, np.float32).std()) > 6
