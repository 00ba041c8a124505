"""Train the small model for a given time: `python -m ocr.training.train --help` (several GPUs: see distributed).

The schedule follows the clock, not a step count, so that a leg always ends with its rate decayed. A leg longer
than one run is made of several, each started from the last one's weights and told its part of the leg (--span).
"""

import argparse
import json
import multiprocessing
import shutil
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from ocr.checkpoints import checkpoint
from ocr.model.deepseek_ocr import OcrModel
from ocr.training.sampling_pages.loader import Batch, Pages, batches, echoed
from ocr.training.small import small_config
from ocr.training.trainer.batch_inputs import Rows, Views, make_rows, make_views, prompt_ids
from ocr.training.trainer.curriculum import LEGS
from ocr.training.trainer.distributed import Gradients, Ranks
from ocr.training.trainer.muon import Muon, is_matrix
from ocr.training.trainer.objective import Objective, Weights, initialise
from ocr.training.trainer.rate_schedule import Schedule

SHARD_BYTES = 14 << 20
CLOCK_STEPS = 10
SETTLING_STEPS = 300


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m ocr.training.train", description=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, help="what ocr.training.corpus and .tokenize made"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for weights and the log")
    parser.add_argument("--minutes", type=float, default=24.0)
    parser.add_argument("--leg", choices=sorted(LEGS), default="first")
    parser.add_argument("--weights", type=Path, help="folder of weights, or packaged model, to start from")
    parser.add_argument("--workers", type=int, default=14)
    parser.add_argument(
        "--tiles", type=int, default=96, help="tiles a batch; pages are a sixth, whole views a third"
    )
    parser.add_argument("--muon-rate", type=float, default=0.02)
    parser.add_argument(
        "--rate", type=float, default=1e-3, help="AdamW's, for embeddings, heads, norms and biases"
    )
    parser.add_argument(
        "--flat", type=float, default=0.45, help="share of the leg's time before the rates decay"
    )
    parser.add_argument(
        "--span",
        type=float,
        nargs=2,
        default=[0.0, 1.0],
        metavar=("A", "B"),
        help="this run covers the leg from its share A to its share B (curriculum and rates; every run warms up "
        "for 100 steps): `--span 0 0.5`, then `--span 0.5 1 --weights` with the first run's weights",
    )
    parser.add_argument(
        "--save-every", type=float, default=6.0, metavar="MINUTES", help="how often the weights are written"
    )
    parser.add_argument(
        "--tell-every", type=int, default=100, metavar="STEPS", help="how often losses are told"
    )
    parser.add_argument(
        "--echo", type=int, default=1, help="how often each batch is trained on, every time worn anew"
    )
    parser.add_argument("--strength", type=float, default=1.0, help="of the wear: 1 leaves a third clean")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument(
        "--compile", action="store_true", help="compile the blocks (about a minute, then faster)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=0, help="stop after so many steps (0: by the clock)")
    args = parser.parse_args(given)
    if not 0 <= args.span[0] < args.span[1] <= 1:
        parser.error("--span A B needs 0 <= A < B <= 1")
    return args


def save_weights(model: OcrModel, folder: Path) -> None:
    """The state dict in bfloat16, in shards small enough for any transport. The folder is replaced at once."""
    made = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    shard: dict[str, torch.Tensor] = {}
    size = number = 0
    for name, tensor in [*model.state_dict().items(), ("", None)]:
        if tensor is None or size > SHARD_BYTES:
            save_file(shard, made / f"part-{number}.safetensors")
            shard, size, number = {}, 0, number + 1
        if tensor is not None:
            shard[name] = tensor.to(torch.bfloat16).contiguous().cpu().clone()
            size += shard[name].numel() * 2
    shutil.rmtree(folder, ignore_errors=True)
    made.rename(folder)


def load_weights(model: OcrModel, folder: Path) -> None:
    """The weights of a leg, or of a packaged model, where name and shape agree; the rest stays as it is."""
    own, state = model.state_dict(), {}
    if (folder / "model.safetensors").exists():
        state = checkpoint.load(str(folder), device="cpu", dtype=torch.float32).model.state_dict()
    for file in sorted(folder.glob("part-*.safetensors")):
        state.update(load_file(file))
    fitting = {name: value for name, value in state.items() if name in own and own[name].shape == value.shape}
    model.load_state_dict(fitting, strict=False)
    print(f"started from {folder}: {len(fitting)} of {len(own)} tensors", flush=True)


def compile_blocks(model: OcrModel) -> None:
    blocks = [*model.encoder.sam_model.blocks, *model.encoder.vision_model.transformer.layers]
    for block in [*blocks, *model.language_model.layers]:
        block.forward = torch.compile(block.forward)


class Log:
    """Running means of what the objective reports, and how long the trainer waited for data."""

    def __init__(self) -> None:
        self.sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        self.seen: dict[str, int] = defaultdict(int)
        self.waited, self.mark = 0.0, time.monotonic()

    def count(self, batch: Batch, report: dict[str, torch.Tensor]) -> None:
        kind = batch.view if batch.prompt == "plain" else batch.prompt
        self.seen[kind] += len(batch.grids)
        for name, value in report.items():
            total = self.sums[f"{kind}.{name}"]
            total[0], total[1] = total[0] * 0.7 + value.item(), total[1] * 0.7 + 1

    def tell(self, where: str) -> None:
        spent = time.monotonic() - self.mark
        told = ("acc", "text", "guided", "token")
        means = (f"{k}={a / b:.3f}" for k, (a, b) in sorted(self.sums.items()) if k.endswith(told))
        print(where, dict(self.seen), f"wait {self.waited / spent:.0%}", *means, flush=True)
        self.mark, self.waited = time.monotonic(), 0.0


class Trainer:
    """One leg: model, optimisers, clock and log."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.ranks = args, Ranks()
        start, end = args.span
        self.schedule = Schedule(start=start, end=end, minutes=args.minutes, flat=args.flat)
        self.device = self.ranks.device(args.device)
        tokenizer = Tokenizer.from_file(str(args.data / "tokenizer.json"))
        self.characters = json.loads((args.data / "characters.json").read_text())
        model = OcrModel.from_config(small_config())
        initialise(model, args.seed)
        if args.weights:
            load_weights(model, args.weights)
        self.prompts = prompt_ids(tokenizer)
        self.objective = Objective(model, len(self.characters) + 2, Weights()).to(self.device).train()
        self.gradients = Gradients(self.objective.parameters(), self.ranks)
        named = list(self.objective.named_parameters())
        matrices = [(n, p) for n, p in named if is_matrix(n, p)]
        rest = [p for n, p in named if not is_matrix(n, p)]
        self.optimisers: list[torch.optim.Optimizer] = [
            Muon(matrices, args.muon_rate),
            torch.optim.AdamW(rest, args.rate, betas=(0.9, 0.98), weight_decay=0.0),
        ]
        if args.compile:
            compile_blocks(model)
        self.share = multiprocessing.get_context("spawn").Value("d", 0.0)

    def data(self, split: str, workers: int) -> Iterator[Batch]:
        tiles = self.args.tiles
        pages = Pages(
            self.args.data,
            self.args.data / "tokenizer.json",
            self.characters,
            LEGS[self.args.leg],
            self.share,
            {"tile": tiles, "page": max(1, tiles // 6), "whole": max(1, tiles // 3)},
            seed=self.schedule.seed(self.args.seed),
            rank=self.ranks.rank,
            split=split,
        )
        return batches(pages, workers)

    def inputs(self, batch: Batch, strength: float) -> tuple[Views, Rows]:
        rows = make_rows(batch, self.prompts[batch.prompt], bos=0, eos=1).to(self.device)
        return make_views(batch, self.device, strength), rows

    def step(
        self, batch: Batch, factor: float, clock: float = 0.0
    ) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        """Returns what the objective reports and the first rank's clock, still on the device."""
        views, rows = self.inputs(batch, strength=self.args.strength)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            loss, report = self.objective(views, rows)
        loss.backward()
        told = self.gradients.average(clock)
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = group.setdefault("initial_lr", group["lr"]) * factor
            optimiser.step()
        self.gradients.zero()
        return report, told

    def validate(self, held_out: list[Batch]) -> float:
        """Teacher-forced token accuracy on clean held-out pages.

        Stays in training mode, gradients recorded: anything else would compile every block once more.
        """
        self.objective.corrupting = False
        correct = 0.0
        for batch in held_out:
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
                correct += self.objective(*self.inputs(batch, strength=0.0))[1]["acc"].item()
        self.objective.corrupting = True
        return correct / max(1, len(held_out))

    def held_out(self) -> list[Batch]:
        """A few batches of pages, of what the end of the curriculum draws."""
        self.share.value = 0.999
        source = self.data("valid", min(2, self.args.workers))
        return [batch for batch in (next(source) for _ in range(16)) if batch.view == "page"][:4]

    def run(self) -> None:
        args, out, first, schedule = self.args, self.args.out, self.ranks.is_first, self.schedule
        out.mkdir(parents=True, exist_ok=True)
        held_out = self.held_out() if first else []
        self.share.value = schedule.start
        fresh = self.data("train", args.workers)
        source, log, started = echoed(fresh, args.echo, args.seed), Log(), time.monotonic()
        minutes, step, next_check, next_save = 0.0, 0, 2.0, args.save_every
        while minutes < args.minutes and not (args.steps and step >= args.steps):
            self.share.value = share = schedule.share(minutes)
            before = time.monotonic()
            batch = next(source)
            log.waited += time.monotonic() - before
            self.objective.settling = bool(args.weights) and step < SETTLING_STEPS
            report, told = self.step(batch, schedule.factor(step, share), (time.monotonic() - started) / 60)
            step += 1
            log.count(batch, report if step % 25 == 0 or args.steps else {})
            if step % CLOCK_STEPS == 0 or self.ranks.world == 1:  # reading it waits for the device
                minutes = told.item()
            if first and (step % args.tell_every == 0 or args.steps):
                log.tell(
                    f"{minutes:.2f} min step {step} share {share:.3f} lr x{schedule.factor(step, share):.2f}"
                )
            if first and minutes > next_check:
                print(f"{minutes:.2f} min HELD-OUT pages: accuracy {self.validate(held_out):.4f}", flush=True)
                next_check = minutes + 2
            if first and minutes > next_save:
                save_weights(self.objective.model, out / "weights")
                next_save = minutes + args.save_every
        if first:
            save_weights(self.objective.model, out / "weights")
            print(
                f"done: {step} steps, {dict(log.seen)}, HELD-OUT accuracy {self.validate(held_out):.4f}",
                flush=True,
            )
        self.ranks.close()


if __name__ == "__main__":
    torch.backends.cuda.enable_cudnn_sdp(False)  # it plans anew for every length
    Trainer(arguments()).run()
