"""A trial: a decoder that points at a page's lines, one after the other, over what the structure network sees of them.

python -m ocr.training.structure.pointer_trial OUT --data CORPUS --weights LEG --minutes 8

Each step attends to the lines that were chosen, in order, and to all lines; a line is chosen once, so none is lost.
"""

import argparse
import json
import random
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F

from ocr.learning.learning_loop import Losses, MeanWeights, Schedule, learn
from ocr.line_networks.structure_net import StructureNet
from ocr.line_reader.line_features import NUM_PAIR, pair_geometry
from ocr.training.lines.page_pool import PagePool, batches
from ocr.training.structure.composed_lines import NAMES, LinePage, line_source
from ocr.training.structure.structure_batches import ComposedPages, StructureBatch, structure_losses
from ocr.training.structure.structure_scores import heaviest_rise
from ocr.training.structure.train import _Both, held_pages, open_net

WIDTH, LAYERS, HEADS, GEOMETRY = 128, 3, 4, 32
_FAR = -1e4


class PointerNet(nn.Module):
    """The structure network with a decoder over its lines."""

    def __init__(self, trunk: StructureNet) -> None:
        super().__init__()
        self.trunk = trunk
        own = trunk.sizes.width
        self.geometry = nn.Sequential(
            nn.Linear(NUM_PAIR, GEOMETRY), nn.ReLU(), nn.Linear(GEOMETRY, GEOMETRY), nn.ReLU()
        )
        self.biases = nn.Linear(GEOMETRY, LAYERS * HEADS * 2)
        self.start = nn.Parameter(torch.zeros(WIDTH))
        self.no_pair = nn.Parameter(torch.zeros(GEOMETRY))
        self.taken = nn.Parameter(torch.zeros(LAYERS * HEADS))
        self.enter = nn.Linear(own, WIDTH)
        self.layers = nn.ModuleList(DecoderLayer(own) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.query, self.key = nn.Linear(WIDTH, WIDTH), nn.Linear(own, WIDTH)
        self.pair = nn.Linear(GEOMETRY, 1)

    def seen(self, batch: StructureBatch) -> tuple[Tensor, Tensor, Tensor]:
        """Returns lines [B, N, W], and roles and pairs as the trunk gives them."""
        held: list[Tensor] = []
        hook = self.trunk.norm.register_forward_hook(lambda _m, _i, out: held.append(out))
        roles, pairs = self.trunk(batch.numbers, batch.letters, batch.places, batch.inside)
        hook.remove()
        return held[0], roles, pairs

    def forward(self, batch: StructureBatch) -> tuple[Tensor, Tensor, Tensor]:
        """Returns logits [B, N, N] of which line comes at each step, lines being in order, and the trunk's outputs."""
        lines, roles, pairs = self.seen(batch)
        geometry = self.geometry(pair_geometry(batch.places, torch))  # [B, N, N, G]
        count = lines.shape[1]
        none = self.no_pair.expand(lines.shape[0], 1, count, -1).to(geometry.dtype)
        steps = torch.cat([none, geometry[:, :-1]], 1)  # from the line chosen last to each
        biases = self.biases(steps).permute(0, 3, 1, 2)  # [B, 2LH, T, N]
        cross, own = biases.chunk(2, 1)
        before = torch.ones(count, count, dtype=torch.bool, device=lines.device).tril(-1)
        padded = torch.where(batch.inside, 0.0, _FAR)[:, None, None]
        cross = cross + self.taken[:, None, None] * before + padded
        # Step t knows the lines 0 to t - 1 as the inputs 1 to t; input 0 is the start.
        own = F.pad(own[..., :-1], (1, 0)) + torch.where(
            before | torch.eye(count, dtype=torch.bool, device=lines.device), 0.0, _FAR
        )
        x = torch.cat(
            [self.start.expand(lines.shape[0], 1, -1).to(lines.dtype), self.enter(lines)[:, :-1]], 1
        )
        for layer, c, o in zip(self.layers, cross.chunk(LAYERS, 1), own.chunk(LAYERS, 1), strict=True):
            x = layer(x, lines, c, o)
        q, k = self.query(self.norm(x)), self.key(lines)
        logits = q @ k.transpose(1, 2) / WIDTH**0.5 + self.pair(steps)[..., 0]
        return logits.float().masked_fill(before | ~batch.inside[:, None], _FAR), roles, pairs

    @torch.no_grad()
    def order(self, batch: StructureBatch, told: list[Tensor] | None = None) -> list[list[int]]:
        """Returns for each page its lines in order, greedily."""
        lines, _, _ = self.seen(batch)
        geometry = self.geometry(pair_geometry(batch.places, torch))
        pages, count = batch.inside.shape
        at = torch.arange(pages, device=lines.device)
        free = batch.inside.clone()
        keys, entered = self.key(lines), self.enter(lines)
        kv = [layer.cross_kv(lines) for layer in self.layers]
        past: list[list[Tensor]] = [[] for _ in self.layers]
        chosen: list[Tensor] = []
        x, steps = self.start.expand(pages, 1, -1), self.no_pair.expand(pages, count, -1)
        for _ in range(count):
            biases = self.biases(steps).permute(0, 2, 1)  # [B, 2LH, N]
            cross, own = biases.chunk(2, 1)
            cross = cross + self.taken[:, None] * (~free & batch.inside)[:, None]
            cross = (cross + torch.where(batch.inside, 0.0, _FAR)[:, None]).chunk(LAYERS, 1)
            if chosen:
                index = torch.stack(chosen, 1)[:, None].expand(-1, own.shape[1], -1)
                own = torch.cat([torch.zeros_like(own[..., :1]), own.gather(2, index)], 2)
            else:
                own = torch.zeros_like(own[..., :1])
            own = own.chunk(LAYERS, 1)
            y = x
            for number, layer in enumerate(self.layers):
                y = layer.step(y, kv[number], cross[number], own[number], past[number])
            logits = (self.query(self.norm(y)) @ keys.transpose(1, 2))[:, 0] / WIDTH**0.5 + self.pair(steps)[
                ..., 0
            ]
            best = logits.float().masked_fill(~free, -1e9).argmax(1)
            if told is not None:  # as taught, for a comparison
                told.append(logits.float().masked_fill(~free, _FAR))
                best = torch.full_like(best, len(chosen))
            chosen.append(best)
            free[at, best] = False
            x, steps = entered[at, best][:, None], geometry[at, best]
        made = torch.stack(chosen, 1).tolist()
        return [row[:n] for row, n in zip(made, batch.inside.sum(1).tolist(), strict=True)]


class DecoderLayer(nn.Module):
    def __init__(self, own: int) -> None:
        super().__init__()
        self.first, self.second, self.third = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.inputs, self.output = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.asks, self.lines, self.told = (
            nn.Linear(WIDTH, WIDTH),
            nn.Linear(own, 2 * WIDTH),
            nn.Linear(WIDTH, WIDTH),
        )
        self.wide, self.narrow = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(3 * WIDTH, WIDTH)

    def _heads(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], HEADS, -1).transpose(1, 2)

    def cross_kv(self, lines: Tensor) -> tuple[Tensor, Tensor]:
        keys, values = self.lines(lines).chunk(2, -1)
        return self._heads(keys), self._heads(values)

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
        out = (q @ k.transpose(2, 3) / (WIDTH // HEADS) ** 0.5 + bias).softmax(-1) @ v
        return out.transpose(1, 2).flatten(2)

    def forward(self, x: Tensor, lines: Tensor, cross: Tensor, own: Tensor) -> Tensor:
        q, k, v = map(self._heads, self.inputs(self.first(x)).chunk(3, -1))
        x = x + self.output(self._attend(q, k, v, own))
        x = x + self.told(self._attend(self._heads(self.asks(self.second(x))), *self.cross_kv(lines), cross))
        made: Tensor = x + self.narrow(F.relu(self.wide(self.third(x))))
        return made

    def step(
        self, x: Tensor, kv: tuple[Tensor, Tensor], cross: Tensor, own: Tensor, past: list[Tensor]
    ) -> Tensor:
        q, k, v = map(self._heads, self.inputs(self.first(x)).chunk(3, -1))
        past[:] = [torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)] if past else [k, v]
        x = x + self.output(self._attend(q, past[0], past[1], own[:, :, None]))
        x = x + self.told(self._attend(self._heads(self.asks(self.second(x))), *kv, cross[:, :, None]))
        made: Tensor = x + self.narrow(F.relu(self.wide(self.third(x))))
        return made


def mixed(pages: list[LinePage]) -> tuple[StructureBatch, list[np.ndarray]]:
    """Returns pages whose lines come in another order, and these orders."""
    rng = np.random.default_rng(0)
    orders = [rng.permutation(len(page.lines)) for page in pages]
    made = [
        LinePage(
            genre=p.genre, width_pt=p.width_pt, height_pt=p.height_pt, lines=tuple(p.lines[i] for i in o)
        )
        for p, o in zip(pages, orders, strict=True)
    ]
    return StructureBatch.of(made), orders


def moved(net: PointerNet, pages: list[LinePage], device: torch.device) -> float:
    wrong = total = 0
    for start in range(0, len(pages), 40):
        some = pages[start : start + 40]
        batch, orders = mixed(some)
        for page, own, order in zip(some, net.order(batch.to(device)), orders, strict=True):
            lengths = [len(line.text) for line in page.lines]
            total += sum(lengths)
            wrong += sum(lengths) - heaviest_rise([int(order[i]) for i in own], lengths)
    return wrong / total


def open_pointer(folder: Path) -> PointerNet:
    net = PointerNet(open_net(Path("ocr/training/legs/structure")))
    net.load_state_dict({k: v.float() for k, v in load_file(folder / "pointer.safetensors").items()})
    return net.eval()


class Both(_Both):
    def __init__(self, net: nn.Module, rate: float) -> None:
        matrices = [
            p
            for name, p in net.named_parameters()
            if p.ndim == 2 and ("blocks." in name or "layers." in name)
        ]
        known = set(map(id, matrices))
        others = [p for p in net.parameters() if id(p) not in known]
        self._parts = (
            torch.optim.Muon(matrices, lr=0.02, weight_decay=0.01),
            torch.optim.AdamW(others, rate, betas=(0.9, 0.98), weight_decay=0.01),
        )
        torch.optim.Optimizer.__init__(self, list(net.parameters()), {})
        self.param_groups = [group for part in self._parts for group in part.param_groups]


def main() -> None:
    made = argparse.ArgumentParser()
    made.add_argument("out", type=Path)
    made.add_argument("--data", type=Path, required=True)
    made.add_argument("--weights", type=Path, required=True)
    made.add_argument("--minutes", type=float, default=8.0)
    made.add_argument("--steps", type=int, default=0)
    made.add_argument("--workers", type=int, default=15)
    made.add_argument("--pairs", type=int, default=400_000)
    made.add_argument("--rate", type=float, default=1.5e-3)
    made.add_argument("--held-pages", type=int, default=200)
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--tell", type=int, default=200)
    made.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = made.parse_args()
    torch.manual_seed(args.seed)
    random.seed(args.seed)
    device = torch.device(args.device)
    net = PointerNet(open_net(args.weights)).to(device).train()
    mean = MeanWeights(net, every=4, keep=0.98, young=40)
    optimiser = Both(net, args.rate)
    args.out.mkdir(parents=True, exist_ok=True)
    composed = ComposedPages(args.data, seed=args.seed, uses=3, pairs=args.pairs, genres=NAMES)
    stream = batches(composed, args.workers)
    held = held_pages(line_source(args.data, "valid"), args.held_pages, NAMES)
    pool = PagePool(stream, 400, 3.0)

    def losses() -> Losses:
        batch = pool.draw().to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            logits, roles, pairs = net(batch)
        wanted = torch.arange(logits.shape[1], device=device).expand(logits.shape[:2])
        each = F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), reduction="none").view_as(wanted)
        point = (each * batch.inside).sum() / batch.inside.sum()
        return {"point": 4 * point, **structure_losses(roles.float(), pairs.float(), batch)}

    def check() -> str:
        mean.save(args.out / "pointer.safetensors")
        return f"HELD OUT moved={moved(mean.net, held, device):.4f}; {pool.arrived} batches, {pool.used} used"

    schedule = Schedule(minutes=args.minutes, steps=args.steps, flat=0.4, warm_up=200, tell=args.tell)
    learn(optimiser, schedule, mean, losses, check, goes_on=False)
    (args.out / "structure.json").write_text(json.dumps({}), encoding="utf-8")


if __name__ == "__main__":
    main()
