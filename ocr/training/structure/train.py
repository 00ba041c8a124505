"""Trains the network that reads the structure of pages from their lines (ocr.line_networks.structure_net):

python -m ocr.training.structure.train OUT --data CORPUS --minutes 12 --workers 15

Writes structure.safetensors every two minutes. Of the corpus only texts and typefaces are needed.
"""

import argparse
import json
import random
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import nn

from ocr.learning.learning_loop import Losses, MeanWeights, Schedule, learn
from ocr.line_networks.structure_net import StructureNet, StructureSizes
from ocr.line_reader.line_structure import LineStructure
from ocr.line_reader.structure_network import ROLES, SIZES, WEIGHTS
from ocr.training.lines.page_pool import PagePool, batches
from ocr.training.pages.page_source import PageSource
from ocr.training.structure.composed_lines import NAMES, line_pages, line_source
from ocr.training.structure.moved_lines import decoded, num_moved
from ocr.training.structure.placed_lines import LinePage
from ocr.training.structure.structure_batches import ComposedPages, StructureBatch, structure_losses

_HELD_SEED = 1_000_000  # of pages that no training composes
_DECAY, _BETAS, _MUON = 0.01, (0.9, 0.98), 13.3  # Muon's rate, as a multiple of AdamW's


def read(net: nn.Module, page: LinePage) -> LineStructure:
    """Returns what the network says of a page's lines."""
    batch = StructureBatch.of([page]).to(next(net.parameters()).device)
    with torch.no_grad():
        roles, pairs = net(batch.numbers, batch.letters, batch.places, batch.inside)
    count = len(page.lines)
    return decoded(
        page, roles[0, :count].float().cpu().numpy(), pairs[0, :, :count, :count].float().cpu().numpy()
    )


def held_pages(source: PageSource, count: int) -> list[LinePage]:
    """Returns pages that are the same for every training."""
    pages, seed = list[LinePage](), _HELD_SEED
    while len(pages) < count:
        pages += line_pages(random.Random(seed), source)
        seed += 1
    return pages


def open_net(folder: Path) -> StructureNet:
    """Returns the network that a training wrote."""
    net = StructureNet(StructureSizes(**json.loads((folder / SIZES).read_text(encoding="utf-8"))))
    net.load_state_dict({name: value.float() for name, value in load_file(folder / WEIGHTS).items()})
    return net.eval()


class _Both(torch.optim.Optimizer):
    """Muon for the matrices of the transformer, AdamW for all else, as one."""

    def __init__(self, net: StructureNet, rate: float) -> None:
        matrices = [p for name, p in net.named_parameters() if p.ndim == 2 and "blocks." in name]
        others = [p for p in net.parameters() if id(p) not in set(map(id, matrices))]
        self._parts = (
            torch.optim.Muon(matrices, lr=_MUON * rate, weight_decay=_DECAY),
            torch.optim.AdamW(others, rate, betas=_BETAS, weight_decay=_DECAY),
        )
        super().__init__(list(net.parameters()), {})
        self.param_groups = [group for part in self._parts for group in part.param_groups]

    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for part in self._parts:
            part.step()  # type: ignore[no-untyped-call]


def main() -> None:
    args = _arguments()
    torch.manual_seed(args.seed)
    random.seed(args.seed)
    device = torch.device(args.device)
    sizes = StructureSizes(num_roles=len(ROLES), width=args.width, layers=args.layers)
    net = (open_net(args.weights) if args.weights else StructureNet(sizes)).to(device).train()
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / SIZES).write_text(json.dumps(asdict(net.sizes)), encoding="utf-8")
    mean = MeanWeights(net, every=4, keep=0.995, young=40)
    plain = torch.optim.AdamW(net.parameters(), args.rate, betas=_BETAS, weight_decay=_DECAY)
    optimiser = _Both(net, args.rate) if args.muon else plain
    genres = NAMES.difference(args.without)
    composed = ComposedPages(args.data, seed=args.seed, uses=args.uses, pairs=args.pairs, genres=genres)
    stream = batches(composed, args.workers)  # workers start while the pages held out are composed
    held = held_pages(line_source(args.data, "valid"), args.held_pages)
    pool = PagePool(stream, args.pool, args.echo)

    def losses() -> Losses:
        batch = pool.draw().to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            roles, pairs = net(batch.numbers, batch.letters, batch.places, batch.inside)
        return structure_losses(roles.float(), pairs.float(), batch)

    def check() -> str:
        mean.save(args.out / WEIGHTS)
        moved = sum(num_moved(page, read(mean.net, page)) for page in held)
        share = moved / sum(page.num_characters for page in held)
        return f"HELD OUT moved={share:.4f}; {pool.arrived} batches composed, {pool.used} used"

    schedule = Schedule(minutes=args.minutes, steps=args.steps, flat=0.4, warm_up=100, tell=args.tell)
    learn(optimiser, schedule, mean, losses, check, goes_on=bool(args.weights))


def _arguments() -> argparse.Namespace:
    made = argparse.ArgumentParser(prog="python -m ocr.training.structure.train", description=__doc__)
    made.add_argument("out", type=Path, metavar="OUT", help="folder for the weights")
    made.add_argument("--data", type=Path, required=True, help="what ocr.training.corpus made: text, fonts")
    made.add_argument("--minutes", type=float, default=12.0)
    made.add_argument("--steps", type=int, default=0, help="stop after so many steps (0: by the clock)")
    made.add_argument("--workers", type=int, default=15, help="processes that compose pages")
    made.add_argument("--weights", type=Path, help="folder of weights to start from, such as an earlier OUT")
    made.add_argument("--width", type=int, default=128)
    made.add_argument("--layers", type=int, default=4)
    made.add_argument("--rate", type=float, default=1.5e-3, help="AdamW's")
    made.add_argument("--muon", action="store_true", help="for the transformer's matrices")
    made.add_argument("--without", nargs="*", default=(), choices=sorted(NAMES), help="genres left out")
    made.add_argument("--pairs", type=int, default=500_000, help="of lines, in a batch")
    made.add_argument("--uses", type=int, default=3, help="how often a page comes, each time found otherwise")
    made.add_argument("--echo", type=float, default=3.0, help="how often a batch is used on average")
    made.add_argument("--pool", type=int, default=400, metavar="BATCHES", help="that batches are chosen from")
    made.add_argument("--held-pages", type=int, default=160, help="pages that are read every two minutes")
    made.add_argument("--tell", type=int, default=200, metavar="STEPS", help="how often losses are told")
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    return made.parse_args()


if __name__ == "__main__":
    main()
