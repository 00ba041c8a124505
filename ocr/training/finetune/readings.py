"""Measures how well a model reads pages whose text is known, decoding them as `ocrbatch run` and `eval` do."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from rapidfuzz.distance import Levenshtein
from tqdm import tqdm

from ocr.checkpoints.checkpoint import LoadedModel
from ocr.decoding.decode_pages import decode_pages
from ocr.decoding.sequence.page_reading import settings_for
from ocr.imaging.tiling import views
from ocr.training.finetune.pairs import MAX_TILES, MODE, Pair, page_image
from ocr.transcript import grounding


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A page's reading. num_edits: characters to change, white space collapsed; length: of the true text."""

    name: str
    text: str
    num_edits: int
    length: int

    @property
    def cer(self) -> float:
        return self.num_edits / max(1, self.length)


def total_cer(readings: Sequence[Reading]) -> float:
    """Returns all edits over all characters."""
    return sum(r.num_edits for r in readings) / max(1, sum(r.length for r in readings))


@torch.inference_mode()
def read_pages(loaded: LoadedModel, pairs: Sequence[Pair], prompt: str, label: str) -> list[Reading]:
    """Returns each page's reading, in order; reads one page at a time, which bounds memory."""
    return [_score(pair, _read(loaded, pair, prompt)) for pair in tqdm(pairs, label, unit="page")]


def table(before: Sequence[Reading], after: Sequence[Reading], most: int = 20) -> str:
    """Returns a table of the pages' error rates before and after: all of a few, the most changed of many."""
    rows = sorted(zip(before, after, strict=True), key=lambda pair: -abs(pair[0].cer - pair[1].cer))[:most]
    lines = [f"{'page':<40} {'characters':>10} {'before':>8} {'after':>8}"]
    lines += [f"{b.name[-40:]:<40} {b.length:>10} {b.cer:>8.2%} {a.cer:>8.2%}" for b, a in rows]
    if len(before) > most:
        lines.append(f"... and {len(before) - most} pages that changed less")
    total = sum(reading.length for reading in before)
    lines.append(f"{'all':<40} {total:>10} {total_cer(before):>8.2%} {total_cer(after):>8.2%}")
    return "\n".join(lines)


def _read(loaded: LoadedModel, pair: Pair, prompt: str) -> str:
    image = page_image(pair)
    (vision,) = loaded.model.encoder.encode([views(image.pixels, MODE, MAX_TILES, image.grid)])
    output = decode_pages(loaded, [vision], prompt=prompt, settings=[settings_for(pair.kind)])
    raw = output.transcripts[0].raw
    height, width, _ = image.pixels.shape
    return grounding.parse(raw, width_px=width, height_px=height).text


def _score(pair: Pair, text: str) -> Reading:
    truth, found = _collapsed(pair.text), _collapsed(text)
    return Reading(name=pair.name, text=text, num_edits=Levenshtein.distance(truth, found), length=len(truth))


def _collapsed(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())
