"""Trains a model's line reader further on one's own pages, and measures before and after what it reads of others."""

import json
import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from tqdm import tqdm

from ocr.learning.learning_loop import MeanWeights, Schedule
from ocr.learning.line_learning import LearnedLine, TuneSettings, classes_of, true_texts, tune
from ocr.line_networks.reader_net import ReaderNet, open_net
from ocr.line_reader.faint_print import darkened
from ocr.line_reader.line_images import line_image, normalised, pieces
from ocr.line_reader.reading import LineReader, darkness_of
from ocr.line_reader.reading_order import in_reading_order
from ocr.model_files.locate import LINES, find_directory
from pipeline.documents.failures import DocumentError, PageRenderError
from pipeline.documents.open_files import OpenDocuments
from pipeline.documents.settings import RenderSettings, TileSettings
from pipeline.errors import ExitCode
from pipeline.evaluate import Edits, character_edits
from pipeline.finetune.true_pages import FinetuneError, LeftOut, TruePage, explain
from pipeline.stages.read_lines import read_lines
from pipeline.stages.render import render, tile
from pipeline.types import RenderedPage

MOST_HELD_OUT = 64
_READER = f"{LINES}/reader.safetensors"
_FACTS = "finetune.json"
_LEAST_LINES = 8
_FLAT, _WARM_UP = 0.05, 20
_DIVERGED = "{} any more; lower --rate and start again"
_SHOWN = 20  # pages in the table


@dataclass(frozen=True, slots=True, kw_only=True)
class FinetuneSettings:
    """What to train and how, as the options of `ocrbatch finetune` say."""

    model: str
    out: Path
    minutes: float = 30.0
    epochs: int | None = None
    device: str = "auto"
    rate: float = 2e-4
    batch: int = 16
    hold_out: float = 0.1
    wear: float = 0.5
    keep_worse: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedPage:
    """A page and its pixels, as a run prepares them for the line reader."""

    true: TruePage
    rendered: RenderedPage


def finetune(
    found: Sequence[TruePage],
    left_out: Sequence[LeftOut],
    replay: Sequence[TruePage],
    settings: FinetuneSettings,
) -> ExitCode:
    """Runs everything, and prints what it does; returns INCOMPLETE if the model reads worse and is not written.

    replay: pages that it could read before, of which as many lines are learned as of the others, and none is held out.
    Raises: FinetuneError, CheckpointError, OSError.
    """
    if settings.out.exists() and (not settings.out.is_dir() or any(settings.out.iterdir())):
        raise FinetuneError(f"{settings.out} exists already; name a new folder with --out, or remove it")
    start = find_directory(settings.model)
    net, characters = open_net(start / LINES)
    reader = LineReader.load(start / LINES)
    prepared, unusable = prepare(found)
    learnt, kept_out = split(prepared, settings.hold_out, settings.seed)
    told = explain([*left_out, *unusable])
    print("\n".join([f"{len(learnt)} pages to train on, {len(kept_out)} kept out", *told]), flush=True)
    lines = learned_lines(learnt, reader, characters)
    again = learned_lines(prepare(replay)[0], reader, characters) if replay else []
    lines += random.Random(settings.seed).choices(again, k=len(lines)) if again else []
    measured = kept_out or learnt[:MOST_HELD_OUT]
    before = read_pages(reader, measured, "read before")
    wanted = settings.device if settings.device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    mean = _tuned(net.to(wanted), lines, learned_lines(kept_out, reader, characters), settings)
    settings.out.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=settings.out.parent) as scratch:
        partial = Path(scratch) / "model"
        write(mean, start, partial)
        after = read_pages(LineReader.load(partial / LINES), measured, "read after")
        print("\n".join(table(measured, before, after)))
        return _conclude(settings, partial, (before, after), num_lines=len(lines), num_held_out=len(kept_out))


def prepare(found: Sequence[TruePage]) -> tuple[list[PreparedPage], list[LeftOut]]:
    """Returns the pages that can be drawn, upright and in grey as a run draws them, and the others."""
    prepared, left_out = [], []
    documents = OpenDocuments()
    for true in tqdm(found, "draw pages", unit="page", leave=False):
        try:
            image = render(true.page, RenderSettings(), TileSettings(lines=True), documents)
        except (DocumentError, PageRenderError, OSError) as error:
            left_out.append(
                LeftOut(name=true.name, reason=f"the page cannot be drawn ({error}); save it again")
            )
            continue
        rendered = tile(image, TileSettings(lines=True))
        if rendered.grey is None:
            left_out.append(LeftOut(name=true.name, reason="the page is blank: there is nothing to learn"))
        else:
            prepared.append(PreparedPage(true=true, rendered=rendered))
    documents.close()
    return prepared, left_out


def split(
    pages: Sequence[PreparedPage], share: float, seed: int
) -> tuple[list[PreparedPage], list[PreparedPage]]:
    """Returns (training pages, held-out pages): at least one of each unless share is 0. Raises: FinetuneError."""
    if not pages:
        raise FinetuneError("no page is left to train on: none can be drawn")
    shuffled = list(pages)
    random.Random(seed).shuffle(shuffled)
    count = min(max(1, round(len(pages) * share)), MOST_HELD_OUT) if share else 0
    if count >= len(pages):
        raise FinetuneError(
            "only one page can be used, and it would be kept out; add pages or use --hold-out 0"
        )
    by_name = [sorted(part, key=lambda page: page.true.name) for part in (shuffled[count:], shuffled[:count])]
    return by_name[0], by_name[1]


def learned_lines(pages: Sequence[PreparedPage], reader: LineReader, characters: str) -> list[LearnedLine]:
    """Returns the pages' lines whose text is sure and known to the reader; those of a page without text as nothing."""
    classes = classes_of(characters)
    found = []
    for page in tqdm(pages, "find lines", unit="page", leave=False):
        assert page.rendered.grey is not None, "a page that is not blank"
        darkness = darkness_of(darkened(page.rendered.grey))
        units = in_reading_order(reader.read(darkness, reader.find(darkness)))
        read = [line for unit in units for row in unit.rows for line in row]
        texts = true_texts([line.text for line in read], page.true.text)
        for line, text in zip(read, texts, strict=True):
            images = list(pieces(line_image(darkness, line.line)))
            if text is not None and len(images) == 1 and all(c in classes for c in text):
                found.append(
                    LearnedLine.of(torch.from_numpy(normalised(images[0])), [classes[c] for c in text])
                )
    return found


def _tuned(
    net: ReaderNet, lines: list[LearnedLine], kept_out: list[LearnedLine], settings: FinetuneSettings
) -> MeanWeights:
    """Returns the mean of the weights after training. Raises: FinetuneError."""
    if len(lines) < _LEAST_LINES:
        raise FinetuneError(
            f"only {len(lines)} lines of the pages are surely those of their texts; add pages, and check that texts "
            "keep the pages' own lines and hold characters that the reader knows"
        )
    steps = ceil(len(lines) / settings.batch) * settings.epochs if settings.epochs else 0
    schedule = Schedule(minutes=settings.minutes, steps=steps, flat=_FLAT, warm_up=_WARM_UP, tell=50)
    tuning = TuneSettings(
        schedule=schedule, rate=settings.rate, batch=settings.batch, wear=settings.wear, seed=settings.seed
    )
    try:
        return tune(net, lines, kept_out, tuning)
    except FloatingPointError as error:
        raise FinetuneError(_DIVERGED.format(error)) from None


def write(mean: MeanWeights, start: Path, folder: Path) -> None:
    """Writes a whole model: the one it started from, with the line reader's new weights. Raises: FinetuneError."""
    left = shutil.ignore_patterns("MODEL_CARD.md", "SHA256SUMS", _FACTS)
    shutil.copytree(start, folder, ignore=left)
    try:
        mean.save(folder / _READER)  # with 16 bits: small changes would be lost in eight
    except FloatingPointError as error:
        raise FinetuneError(_DIVERGED.format(error)) from None


def read_pages(reader: LineReader, pages: Sequence[PreparedPage], label: str) -> list[Edits]:
    """Returns the edits of each page, in order, read as a run reads it at first."""
    return [
        character_edits(
            page.true.text, parsed.text if (parsed := read_lines(page.rendered, reader).parsed) else ""
        )
        for page in tqdm(pages, label, unit="page")
    ]


def table(pages: Sequence[PreparedPage], before: Sequence[Edits], after: Sequence[Edits]) -> Iterator[str]:
    """Yields a table of the pages' error rates before and after: all of a few, the most changed of many."""
    rows = sorted(zip(pages, before, after, strict=True), key=lambda row: -abs(row[1].rate - row[2].rate))
    yield f"{'page':<40} {'characters':>10} {'before':>8} {'after':>8}"
    for page, b, a in rows[:_SHOWN]:
        yield f"{page.true.name[-40:]:<40} {b.length:>10} {b.rate:>8.2%} {a.rate:>8.2%}"
    if len(rows) > _SHOWN:
        yield f"... and {len(rows) - _SHOWN} pages that changed less"
    total = sum(edits.length for edits in before)
    yield f"{'all':<40} {total:>10} {_total(before):>8.2%} {_total(after):>8.2%}"


def _total(edits: Sequence[Edits]) -> float:
    return sum(one.num_edits for one in edits) / max(1, sum(one.length for one in edits))


def _conclude(
    settings: FinetuneSettings,
    partial: Path,
    measured: tuple[Sequence[Edits], Sequence[Edits]],
    *,
    num_lines: int,
    num_held_out: int,
) -> ExitCode:
    """Moves the model into place if it reads no worse, or if that is asked for anyway; returns the exit code."""
    before, after = map(_total, measured)
    which = "pages kept out" if num_held_out else "pages it was trained on (none were kept out)"
    print(f"{num_lines} lines learned; character error rate of the {which}: {before:.2%} -> {after:.2%}")
    if after > before and not settings.keep_worse:
        print(
            "The model reads worse than before, so it was NOT written. A lower --rate, a shorter run, more pages or "
            "--replay may help; --keep-worse writes it anyway."
        )
        return ExitCode.INCOMPLETE
    facts = {
        "started_from": settings.model,
        "lines": num_lines,
        "kept_out": num_held_out,
        "cer_before": before,
        "cer_after": after,
    }
    (partial / _FACTS).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    partial.replace(settings.out)
    print(f"written: {settings.out}; read with it: ocrbatch run PAGES --model {settings.out}")
    return ExitCode.OK
