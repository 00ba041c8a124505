"""Trains a packaged model further on your own pages: `python -m ocr.training.finetune DIR --out MODEL_DIR`.

DIR holds page images with their texts (page.png beside page.txt, UTF-8, the page's own line breaks). A share of
the pages is held out and read before and after training; a model that reads them worse is not written.
"""

import argparse
import json
import random
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from tqdm import tqdm

from ocr.checkpoints import checkpoint
from ocr.checkpoints.checkpoint import LoadedModel
from ocr.errors import CheckpointError
from ocr.model_files.locate import CHARACTERS, CONFIDENCE, find_directory
from ocr.training.finetune.corrected_pages import find_corrected
from ocr.training.finetune.pairs import LeftOut, Pair, PairsError, explain, find_pairs, page_image
from ocr.training.finetune.readings import Reading, read_pages, table, total_cer
from ocr.training.finetune.replay import replayed
from ocr.training.finetune.rounding import round_by_chance
from ocr.training.finetune.tuning import PageInput, TuneSettings, TuningError, degraded, page_input, tune
from ocr.training.small import PROMPT

MOST_HELD_OUT = 64
WORSE = 3
ROOM = 1200  # positions for the page itself and the prompt
_FACTS = "finetune.json"


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m ocr.training.finetune", description=__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "folder", type=Path, nargs="?", metavar="DIR", help="pages and texts, searched with its subfolders"
    )
    source.add_argument("--from-db", type=Path, metavar="FILE", help="the pages corrected in `ocrbatch view`")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="MODEL_DIR", help="new folder for the model"
    )
    parser.add_argument(
        "--truth", type=Path, help="texts of PDFs and many-page TIFFs: TRUTH/<file>/<page>.txt, as for eval"
    )
    parser.add_argument("--model", default="small", help="what to start from: small, or a model's folder")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float, default=30.0, help="of training, reading not counted")
    length.add_argument("--epochs", type=int, help="how often every page is seen, instead of --minutes")
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--rate", type=float, default=TuneSettings().rate, help="highest learning rate")
    parser.add_argument("--batch", type=int, default=TuneSettings().batch, help="pages a step")
    parser.add_argument("--hold-out", type=float, default=0.1, help="share of pages that only measures")
    parser.add_argument("--augment", type=float, default=0.5, help="wear of half of the pages drawn, 0 to 1")
    parser.add_argument("--freeze-encoder", action="store_true", help="train the language model alone")
    parser.add_argument("--replay", type=Path, metavar="CORPUS", help="as many pages of ocr.training.corpus")
    parser.add_argument("--max-text", type=int, default=3000, help="most tokens of a page's text")
    parser.add_argument("--keep-worse", action="store_true", help="write the model even if it reads worse")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    if not (args.batch > 0 and args.rate > 0 and args.minutes > 0 and (args.epochs or 1) > 0):
        parser.error("--minutes, --epochs, --batch and --rate must be above 0")
    if not (0 <= args.hold_out <= 0.5 and 0 <= args.augment <= 1):
        parser.error("--hold-out goes from 0 to 0.5, --augment from 0 to 1")
    return args


def check_out(out: Path) -> None:
    """Checks that the output folder is free. Raises: PairsError."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise PairsError(f"{out} exists already; name a new folder with --out, or remove it")


def usable(found: Sequence[Pair], loaded: LoadedModel, max_text: int) -> tuple[list[Pair], list[LeftOut]]:
    """Returns the pairs whose page can be decoded and whose text is not too long, and the others."""
    pairs, left_out = [], []
    most = min(max_text, loaded.model.config.language.max_position_embeddings - ROOM)
    for pair in tqdm(found, "look at pages", unit="page", leave=False):
        tokens = len(loaded.tokenizer.encode(pair.text, add_special_tokens=False).ids)
        try:
            if tokens > most:
                raise PairsError(f"more than {most} tokens of text; cut the page up or raise --max-text")
            page_image(pair)
        except PairsError as error:
            left_out.append(LeftOut(name=pair.name, reason=str(error)))
        else:
            pairs.append(pair)
    if not pairs:
        raise PairsError(f"no page is left to train on{explain(left_out)}")
    return pairs, left_out


def split(pairs: Sequence[Pair], share: float, seed: int) -> tuple[list[Pair], list[Pair]]:
    """Returns (training pages, held-out pages): at least one of each unless share is 0. Raises: PairsError."""
    shuffled = list(pairs)
    random.Random(seed).shuffle(shuffled)
    count = min(max(1, round(len(pairs) * share)), MOST_HELD_OUT) if share else 0
    if count >= len(pairs):
        raise PairsError("only one page can be used, and it would be kept out; add pages or use --hold-out 0")
    return sorted(shuffled[count:], key=lambda p: p.name), sorted(shuffled[:count], key=lambda p: p.name)


def train(
    loaded: LoadedModel,
    pairs: Sequence[Pair],
    prompt: str,
    args: argparse.Namespace,
    replay: Iterator[PageInput] | None,
) -> dict[str, float]:
    """Trains the model in place; returns the figures to report about it."""
    rng = random.Random(args.seed)
    settings = TuneSettings(
        minutes=args.minutes, epochs=args.epochs, batch=args.batch, rate=args.rate,
        freeze_encoder=args.freeze_encoder, seed=args.seed,
    )  # fmt: skip

    def draw(index: int) -> PageInput:
        image = page_image(pairs[index])
        if rng.random() < 0.5 and args.augment:
            image = degraded(image, args.augment)
        ids = loaded.tokenizer.encode(pairs[index].text, add_special_tokens=False).ids
        return page_input(image, prompt, ids)

    first = last = None
    pages, mean = 0, 0.0
    with tqdm(
        total=100, desc="train", unit="%", bar_format="{desc}: {n:.0f}% {elapsed}<{remaining}{postfix}"
    ) as bar:
        for step in tune(loaded, len(pairs), draw, settings, replay):
            mean = step.loss if first is None else 0.9 * mean + 0.1 * step.loss
            first, last, pages = first or step, step, pages + step.num_pages
            bar.n = 100 * step.share
            bar.set_postfix_str(f"step {step.number}, loss {mean:.3f}, tokens right {step.accuracy:.1%}")
        bar.n = 100
        bar.refresh()
    if first is None or last is None:
        raise TuningError("no step was made; give it more --minutes")
    return {"steps": last.number, "pages": pages, "first_loss": first.loss, "last_loss": mean}


def write(loaded: LoadedModel, start: Path, folder: Path) -> None:
    """Writes a packaged model: 8-bit weights, config.json, tokenizer.json, and what the start says of its
    characters and confidence.

    Rounds the model's own weights as well.
    """
    round_by_chance(loaded.model)
    checkpoint.save(loaded.model, folder, tokenizer=loaded.tokenizer, int8=True)
    for name in (CHARACTERS, CONFIDENCE):
        if (start / name).exists():
            shutil.copyfile(start / name, folder / name)


def run(args: argparse.Namespace) -> int:
    """Runs everything; returns 0, or WORSE if the model reads worse and is not written."""
    check_out(args.out)
    found, left_out = find_corrected(args.from_db) if args.from_db else find_pairs(args.folder, args.truth)
    device = args.device if args.device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    loaded = checkpoint.load(args.model, device=device, dtype=torch.float32)
    prompt = PROMPT if "<|grounding|>" in loaded.prompt else loaded.prompt
    pairs, unusable = usable(found, loaded, args.max_text)
    learnt, kept_out = split(pairs, args.hold_out, args.seed)
    print(
        f"{len(learnt)} pages to train on, {len(kept_out)} kept out{explain([*left_out, *unusable])}",
        flush=True,
    )
    if empty := sum(not pair.text for pair in pairs):
        print(f"  {empty} of them have an empty text: the model learns to write nothing there")
    replay = replayed(args.replay, loaded, args.seed) if args.replay else None
    measured = kept_out or learnt[:MOST_HELD_OUT]
    before = read_pages(loaded, measured, prompt, "read before")
    facts = train(loaded, learnt, prompt, args, replay) | {"kept_out": len(kept_out)}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=args.out.parent) as scratch:
        partial = Path(scratch) / "model"
        write(loaded, find_directory(args.model), partial)
        # Measure what ships: its weights have 8 bits.
        tuned = checkpoint.load(str(partial), device=device, dtype=torch.float32)
        after = read_pages(tuned, measured, prompt, "read after")
        print(table(before, after))
        code = conclude(args, partial, before, after, facts)
    if not code and prompt != loaded.prompt:
        print(
            f"It was trained with another prompt than its own: add --set 'decode.prompt={json.dumps(prompt)}'"
        )
    return code


def conclude(
    args: argparse.Namespace,
    partial: Path,
    before: Sequence[Reading],
    after: Sequence[Reading],
    facts: dict[str, float],
) -> int:
    """Moves the model into place if it reads no worse, or if that is asked for anyway; returns the exit code."""
    cer = (total_cer(before), total_cer(after))
    which = "pages kept out" if facts["kept_out"] else "pages it was trained on (none were kept out)"
    print(
        f"{facts['pages']} pages in {facts['steps']} steps; loss {facts['first_loss']:.3f} -> {facts['last_loss']:.3f}"
    )
    print(f"character error rate of the {which}: {cer[0]:.2%} -> {cer[1]:.2%}")
    if cer[1] > cer[0] and not args.keep_worse:
        print(
            "The model reads worse than before, so it was NOT written. A lower --rate, a shorter run, more pages, "
            "--freeze-encoder or --replay may help; --keep-worse writes it anyway."
        )
        return WORSE
    told = {"started_from": args.model, "cer_before": cer[0], "cer_after": cer[1], **facts}
    (partial / _FACTS).write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    partial.replace(args.out)
    print(f"written: {args.out}; read with it: ocrbatch run PAGES --model {args.out}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(run(arguments()))
    except (PairsError, TuningError, CheckpointError) as error:
        sys.exit(f"error: {error}")
