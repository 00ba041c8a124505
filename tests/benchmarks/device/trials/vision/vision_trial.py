"""What do pixels bring to a page's structure? Line pages that are drawn, features of their lines, arms of one network.

python vision_trial.py make OUT --data CORPUS --seconds 240 --workers 8 --shard 0
python vision_trial.py train OUT --pages OUT/... --arm finder --seed 0
python vision_trial.py leg OUT --data CORPUS --minutes 17 --workers 10
"""

import argparse
import json
import math
import multiprocessing as mp
import os
import pickle
import random
import re
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")
HERE = Path(__file__).resolve().parent

import numpy as np
import pymupdf
import torch
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor, nn
from torch.nn import functional as F

from ocr.line_networks.structure_net import StructureNet, StructureSizes
from ocr.line_reader.line_features import MOST_RULES, pair_geometry
from ocr.line_reader.structure_network import ROLES, SIZES, WEIGHTS
from ocr.training.pages import compose as compose_module
from ocr.training.pages.genres import draw_form
from ocr.training.pages.page_source import USELESS_DRAW, PageSource
from ocr.training.structure import composed_lines, line_noise, page_parts
from ocr.training.structure.composed_lines import _MAKERS, _OTHERS
from ocr.training.structure.moved_lines import decoded, num_moved
from ocr.training.structure.placed_lines import MOST, LinePage
from ocr.training.structure.structure_batches import StructureBatch, _truth, structure_losses, tokens_of
from ocr.training.structure.true_lines import TrueLine, true_lines, true_rules

line_noise._EVEN = 0.0  # headings no larger than text are typeset so here, that the picture shows them
line_noise._ASKEW = 0.0  # the pictures are straight

HELD = ("newspaper", "invoice", "slides", "card", "form", "articles", "screen", "reference")  # of no training page
SCALE = 2.0  # pixels a point
SOURCES = ("finder", "patches", "tokens", "crops")
ARMS = {
    "none": (), "finder": ("finder",), "global": ("tokens",), "global+local": ("tokens", "crops"),
    "patches": ("patches",), "all": SOURCES,
}
_EVEN = 0.3


# ---------------------------------------------------------------- pages that are drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class StyledLine(TrueLine):
    """style: bits as MuPDF has them: 2 slanted, 4 serifs, 8 typewriter's, 16 bold."""

    style: int = -1


def styled_lines(sheet):
    spans = defaultdict(list)
    for block in pymupdf.TextPage(sheet.display.get_textpage()).extractDICT()["blocks"]:
        for line in block.get("lines", ()):
            for span in line["spans"]:
                if span["text"].strip():
                    spans[round(span["origin"][1])].append((span["bbox"][0], span["bbox"][2], span["flags"]))
    made = []
    for line in true_lines(sheet):
        near = [s for at in (0, -1, 1) for s in spans.get(round(line.base) + at, ())]
        over = max(near, key=lambda s: min(s[1], line.x1) - max(s[0], line.x0), default=(0, 0, 0))
        values = {name: getattr(line, name) for name in TrueLine.__slots__}
        made.append(StyledLine(**values, style=over[2]))
    return made


page_parts.true_lines = styled_lines
_choose_style = compose_module.choose_style


def _styled(rng, *args, **kwargs):
    style = _choose_style(rng, *args, **kwargs)
    if rng.random() < _EVEN:
        style = replace(style, css=style.css + "h1,h2,h3,h4{font-size:%.2fem}" % rng.uniform(1.0, 1.15))
    return style


compose_module.choose_style = _styled


class _Blank(composed_lines._Blank):
    pass


def drawn_page(rng, source, genres):
    """Returns a page of these genres as typeset, and its picture, uint8; raises what USELESS_DRAW names."""
    shares = [share if maker.__name__ in genres else 0.0 for maker, share in _MAKERS.items()]
    singles = 1 - sum(_MAKERS.values()) if any(g in genres for g in page_parts.NAMED) else 0.0
    [make] = rng.choices((*_MAKERS, None), (*shares, singles))
    if make:
        pictures, source.pictures = source.pictures, _Blank(Path("/nowhere"))  # parts are drawn again by their lines
        try:
            page = make(rng, source)
        finally:
            source.pictures = pictures
        if page.lines and rng.random() < _EVEN:
            page = replace(page, lines=tuple(line_noise._levelled(rng, page)))
        if not _FEWEST <= len(page.lines) or max(page.width_pt, page.height_pt) > 2000:
            raise ValueError("too large")
        return page, drawing_of(rng, source, page)
    form = draw_form(rng)
    while form.genre.name not in genres or (form.genre.name != "tables" and rng.random() > _OTHERS):
        form = draw_form(rng)
    sheet = compose_module.compose(rng, source, form)
    page = LinePage.of(
        form.genre.name, (form.width_pt, form.height_pt), styled_lines(sheet), true_rules(sheet)
    )
    return page, np.array(sheet.grey(SCALE))


_FEWEST = 2
_FONTS = {}


def _font(file, size):
    key = file, round(size * 2) / 2
    if key not in _FONTS:
        if len(_FONTS) > 300:
            _FONTS.clear()
        _FONTS[key] = ImageFont.truetype(file, key[1])
    return _FONTS[key]


def drawing_of(rng, source, page):
    """Returns a picture of a page's lines and rules, each word as wide as it is said to be."""
    folder = source.fonts.folder
    kinds = {
        kind: source.fonts.choose(rng, kind).styles for kind in ("serif", "sans", "mono")
    }
    body, heads_bold, head_kind = rng.choice(["serif", "sans"]), rng.random() < 0.75, rng.choice(["serif", "sans"])
    cells_bold, ink, rule_ink, thick = rng.random() < 0.6, rng.choice([0, 0, 40]), rng.choice([0, 0, 60, 120]), rng.uniform(0.5, 1.5)
    image = Image.new("L", (math.ceil(page.width_pt * SCALE), math.ceil(page.height_pt * SCALE)), 255)
    pen = ImageDraw.Draw(image)
    for x0, y0, x1, y1 in page.rules:
        pen.rectangle(
            [v * SCALE for v in (x0 - thick / 2, y0 - thick / 2, x1 + thick / 2, y1 + thick / 2)], fill=rule_ink
        )
    for line in page.lines:
        role, flags = ROLES[line.place.role], getattr(line, "style", -1)
        if flags >= 0:
            kind = "mono" if flags & 8 else "serif" if flags & 4 else "sans"
            bold, slanted = bool(flags & 16), bool(flags & 2)
        else:
            is_head = role == "title" or role.startswith("heading")
            kind = "mono" if role == "code" else head_kind if is_head else body
            bold, slanted = (is_head and heads_bold) or (role == "table head" and cells_bold), False
        styles = kinds[kind]
        name = ("bold" if bold else "") + ("italic" if slanted else "") or "regular"
        file = str(folder / (styles.get(name) or styles.get("bold" if bold else "regular") or styles["regular"]))
        font = _font(file, max(4.0, line.size * SCALE))
        parts = line.text.split(" ")
        if len(parts) == len(line.words):
            words = zip(parts, line.words)
        else:
            words = [(line.text, (line.x0, line.x1))]
        for text, (x0, x1) in words:
            wide, own = (x1 - x0) * SCALE, font.getlength(text)
            at = (round(x0 * SCALE), round(line.base * SCALE))
            if own < 1:
                continue
            if 0.95 < wide / own < 1.05:
                pen.text(at, text, fill=ink, font=font, anchor="ls")
                continue
            high = math.ceil(line.size * SCALE)
            mask = Image.new("L", (math.ceil(own) + 2, 2 * high))
            ImageDraw.Draw(mask).text((0, int(1.4 * high)), text, fill=255, font=font, anchor="ls")
            mask = mask.resize((max(1, round(wide)), 2 * high))
            image.paste(ink, (at[0], at[1] - int(1.4 * high)), mask)
    return np.asarray(image)


ALL_NAMES = composed_lines.NAMES
SEEN = tuple(sorted(set(ALL_NAMES) - set(HELD)))
_SPLITS = {"train": (SEEN, "train", 2), "seen": (SEEN, "valid", 1), "held": (HELD, "valid", 1)}


def _work(folder, number, shard, queue, plan):
    """Puts (split, pages as found, picture) into a queue, endlessly. plan: shares of splits."""
    torch.set_num_threads(1)
    sources = {split: PageSource(folder, split) for split in ("train", "valid")}
    rng = random.Random(f"{shard}/{number}")
    while True:
        split = rng.choices(list(plan), list(plan.values()))[0]
        genres, text, uses = _SPLITS[split]
        try:
            page, picture = drawn_page(rng, sources[text], genres)
        except USELESS_DRAW + (OSError, AssertionError, KeyError, TypeError):
            continue
        seen = [line_noise.found(rng, page) for _ in range(uses)]
        seen = [each for each in seen if _FEWEST <= len(each.lines) <= MOST]
        if seen:
            plain = [replace(each, lines=tuple(_plain(line) for line in each.lines)) for each in seen]
            tokens = [(tokens_of(each), _truth(each)) for each in plain]
            queue.put((split, plain, tokens, picture))


def _plain(line):
    return TrueLine(**{name: getattr(line, name) for name in TrueLine.__slots__})


# ---------------------------------------------------------------- features


class Features:
    """Pools what networks make of a page over its lines."""

    def __init__(self, device, sources):
        from ocr.int8 import fill
        from ocr.line_networks.finder_net import FinderNet

        self.device, self.sources = device, sources
        self.finder = FinderNet().eval()
        fill(self.finder, Path("ocr/weights/small/lines/finder.safetensors"))
        self.finder = self.finder.to(device)
        self.maps = {}
        if "finder" in sources:
            for name in ("r4", "r8", "r16", "s32"):
                getattr(self.finder, name).register_forward_hook(
                    lambda module, given, made, name=name: self.maps.__setitem__(name, made)
                )
        self.encoder = None
        if set(sources) - {"finder"}:
            from ocr.checkpoints import checkpoint

            dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
            self.encoder = checkpoint.load("small", device=device, dtype=dtype).model.encoder.eval()
            self.encoder.sam_model.neck.register_forward_hook(
                lambda module, given, made: self.maps.__setitem__("patches", made)
            )

    @torch.no_grad()
    def of(self, page, boxes):
        """Returns for each list of boxes (points) the features by source, [n, D] float16. page: [1, 1, H, W] uint8."""
        grey = page.float()
        made = [dict() for _ in boxes]
        height, width = grey.shape[-2:]
        if "finder" in self.sources:
            long_px, short_px = max(height, width), min(height, width)
            scale = min(1.0, 400 / short_px if long_px > 4 * short_px else 1174 / long_px)
            high, wide = max(1, round(height * scale)), max(1, round(width * scale))
            small = F.interpolate(grey, (high, wide), mode="bilinear", antialias=True, align_corners=False)
            dark = F.pad(1 - small / 255, (0, -wide % 32, 0, -high % 32))
            self.finder(dark)
            whole = dark.shape[-1] / scale / SCALE, dark.shape[-2] / scale / SCALE  # points that the maps cover
            for found, own in zip(made, boxes):
                parts = []
                for name, margins in (("r4", (0.0,)), ("r8", (0.0, 1.5)), ("r16", (0.0,)), ("s32", (0.0,))):
                    for margin in margins:
                        mean, most = pooled(self.maps[name].float(), own, margin, (0.0, 0.0), whole)
                        parts += [mean, most] if name == "r4" or margin == 0 and name == "r8" else [mean]
                found["finder"] = torch.cat(parts, 1)
        if self.encoder is not None:
            side, shown = _square(grey)
            left, top, ratio = shown
            tokens = self.encoder.tokens_of(side.expand(-1, 3, -1, -1).contiguous())
            patches = self.maps["patches"].float()
            grid = tokens[0].float().view(16, 16, -1).permute(2, 0, 1)[None]
            origin, whole = (left / ratio / SCALE, top / ratio / SCALE), (1024 / ratio / SCALE,) * 2
            for found, own in zip(made, boxes):
                if "tokens" in self.sources:
                    found["tokens"] = torch.cat(pooled(grid, own, 0.0, origin, whole), 1)
                if "patches" in self.sources:
                    found["patches"] = torch.cat(pooled(patches, own, 0.0, origin, whole), 1)
            if "crops" in self.sources:
                from ocr.imaging.tiling import choose_grid

                columns, rows = choose_grid(width, height, 6)
                if (columns, rows) == (1, 1):
                    canvas = F.interpolate(grey, (640, 640), mode="bilinear", antialias=True, align_corners=False)
                else:
                    canvas = F.interpolate(
                        grey, (640 * rows, 640 * columns), mode="bicubic", antialias=True, align_corners=False
                    )
                canvas = canvas.clamp(0, 255).round().to(torch.uint8)[0, 0]
                tiles = canvas.view(rows, 640, columns, 640).permute(0, 2, 1, 3).reshape(-1, 1, 640, 640)
                local = self.encoder.encode_views(tiles.expand(-1, 3, -1, -1).contiguous()).float()
                local = local.view(rows, columns, 10, 10, -1).permute(4, 0, 2, 1, 3)
                local = local.reshape(1, -1, rows * 10, columns * 10)
                for found, own in zip(made, boxes):
                    whole = width / SCALE, height / SCALE
                    found["crops"] = torch.cat(pooled(local, own, 0.0, (0.0, 0.0), whole), 1)
        return [{name: value.half().cpu().numpy() for name, value in found.items()} for found in made]


def _square(grey, side=1024):
    """Returns the page padded to a square as the encoder's global view, uint8, and where it lies in it."""
    height, width = grey.shape[-2:]
    ratio = side / max(height, width)
    wide, high = max(1, round(width * ratio)), max(1, round(height * ratio))
    left, top = round((side - wide) * 0.5), round((side - high) * 0.5)
    view = torch.full((1, 1, side, side), 127, dtype=torch.uint8, device=grey.device)
    small = F.interpolate(grey, (high, wide), mode="bicubic", antialias=True, align_corners=False)
    view[:, :, top : top + high, left : left + wide] = small.clamp(0, 255).round().to(torch.uint8)
    return view, (left, top, ratio)


_ACROSS, _DOWN = 32, 3


def pooled(grid, boxes, margin, origin, whole):
    """Returns mean and most of a map [1, C, h, w] over boxes [n, 5] (x0, y0, x1, y1, size), in points.

    origin: what lies left and above the page in the map; whole: the points that the map covers.
    """
    x0, y0, x1, y1, size = boxes.T
    x0, x1 = x0 - margin * size, x1 + margin * size
    y0, y1 = y0 - margin * size, y1 + margin * size
    along = (torch.arange(_ACROSS, device=grid.device) + 0.5) / _ACROSS
    down = (torch.arange(_DOWN, device=grid.device) + 0.5) / _DOWN
    xs = (x0[:, None] + (x1 - x0)[:, None] * along + origin[0]) / whole[0] * 2 - 1
    ys = (y0[:, None] + (y1 - y0)[:, None] * down + origin[1]) / whole[1] * 2 - 1
    count = len(boxes)
    at = torch.stack(
        [xs[:, None].expand(count, _DOWN, _ACROSS), ys[:, :, None].expand(count, _DOWN, _ACROSS)], -1
    ).view(1, count, _DOWN * _ACROSS, 2)
    seen = F.grid_sample(grid, at, align_corners=False, padding_mode="border")[0]
    return seen.mean(-1).T, seen.amax(-1).T


def boxes_of(page, device):
    return torch.tensor(
        [(l.x0, l.base - 0.75 * l.size, l.x1, l.base + 0.22 * l.size, l.size) for l in page.lines], dtype=torch.float32
    ).to(device)


# ---------------------------------------------------------------- making


def make(args):
    from ocr.training.augment.degrade import degrade

    torch.manual_seed(args.shard)
    context = mp.get_context("fork")
    queue = context.Queue(4 * args.workers)
    plan = {"train": 0.88, "seen": 0.06, "held": 0.06} if not args.only_test else {"seen": 0.5, "held": 0.5}
    workers = [
        context.Process(target=_work, args=(args.data, n, args.shard, queue, plan), daemon=True)
        for n in range(args.workers)
    ]
    args.out.mkdir(parents=True, exist_ok=True)
    for worker in workers:
        worker.start()
    device = torch.device(args.device)
    features = Features(device, args.sources)
    begun, pages, counts = time.monotonic(), defaultdict(list), defaultdict(int)
    store = {name: open(args.out / f"{args.shard}.{name}.f16", "wb") for name in args.sources}
    told, at, total, busy, failed = 0.0, 0, 0, 0.0, 0
    while time.monotonic() - begun < args.seconds and total < args.most:
        try:
            split, seen, tokens, picture = queue.get(timeout=60)
        except Empty:
            print("nothing comes any more", flush=True)
            break
        mark = time.monotonic()
        x = torch.from_numpy(picture).to(device)[None, None]
        high, wide = x.shape[-2:]
        x = F.pad(x, (0, -wide % 8, 0, -high % 8), value=255)
        try:
            worn = degrade(x)[..., :high, :wide]
            found = features.of(worn, [boxes_of(page, device) for page in seen])
        except (RuntimeError, IndexError) as error:
            failed += 1
            print("left out", seen[0].genre, tuple(x.shape), repr(error)[:500], flush=True)
            if failed == 8 and total < 8 and "finder" in args.sources:
                print("only the finder from here", flush=True)
                features.sources, features.encoder, args.sources = ("finder",), None, ("finder",)
            continue
        for page, (token, truth), own in zip(seen, tokens, found):
            for name, value in own.items():
                store[name].write(np.ascontiguousarray(value).tobytes())
            pages[split].append((page if split != "train" else None, token, truth, page.genre, at))
            at += len(page.lines)
            widths = {name: value.shape[1] for name, value in own.items()}
        total += 1
        counts[split] += 1
        busy += time.monotonic() - mark
        if time.monotonic() - told > 15:
            told = time.monotonic()
            pace = total / (told - begun)
            print(f"{told - begun:.0f} s: {dict(counts)} pages, {pace:.1f} a second, {1000 * busy / total:.0f} ms each, {at} lines", flush=True)
    for worker in workers:
        worker.terminate()
    for file in store.values():
        file.close()
    (args.out / f"{args.shard}.pickle").write_bytes(pickle.dumps({"pages": dict(pages), "widths": widths, "lines": at}))
    print(f"made {dict(counts)} in {time.monotonic() - begun:.0f} s", flush=True)
    sys.stdout.flush()
    os._exit(0)


def real(args):
    """Features of the lines of real pages: pictures and boxes in HERE/real, features to RESULTS/real."""
    global SCALE
    SCALE = 1.0
    (args.results / "real").mkdir(parents=True, exist_ok=True)
    features = Features(torch.device(args.device), SOURCES)
    for file in sorted(args.data.glob("*.npy")):
        with Image.open(file.with_suffix(".webp")) as image:
            grey = np.array(image.convert("L"))
        boxes = torch.from_numpy(np.load(file)).to(args.device)
        [found] = features.of(torch.from_numpy(grey).to(args.device)[None, None], [boxes])
        np.savez_compressed(args.results / "real" / f"{file.stem}.npz", **found)
    print("real pages done", flush=True)


def tokenise(args):
    """Turns the shards' pages into arrays that trainings share, with features' means and spreads."""
    shards = sorted(args.out.glob("?.pickle"))
    splits, lines_before, widths, files = defaultdict(list), 0, {}, []
    for shard in shards:
        found = pickle.loads(shard.read_bytes())
        widths = {name: width for name, width in found["widths"].items() if not widths or name in widths}
        for split, pages in found["pages"].items():
            splits[split] += [(*entry, shard.stem) for entry in pages]
        files.append((shard.stem, found["lines"]))
    stats = {}
    for name, width in widths.items():
        chosen = []
        for stem, count in files:
            array = np.memmap(args.out / f"{stem}.{name}.f16", np.float16, "r", shape=(count, width))
            chosen.append(array[:: max(1, count // 20000)].astype(np.float32))
        sample = np.concatenate(chosen)
        stats[name] = (sample.mean(0), sample.std(0) + 1e-3 + 0.05 * sample.std(0).mean())
    made = {split: [entry[1:] for entry in splits[split]] for split in _SPLITS}
    tests = {split: [entry[0] for entry in splits[split]] for split in ("seen", "held")}
    (args.out / "tokens.pickle").write_bytes(
        pickle.dumps({"made": made, "tests": tests, "widths": widths, "stats": stats, "files": files})
    )
    counts = {split: (len(own), sum(entry[0].num_lines for entry in own)) for split, own in made.items()}
    print("pages as found and lines:", counts, "widths:", widths, flush=True)
    args.sources = tuple(widths)
    if args.results:
        (args.results / "stats.pickle").write_bytes(pickle.dumps(stats))
    return counts


# ---------------------------------------------------------------- the network


class VisionNet(StructureNet):
    """The network with what is seen at each line: of each source so many numbers, added where a line enters."""

    def __init__(self, sizes, widths, seen=24):
        super().__init__(sizes)
        self.names = tuple(widths)
        self.see = nn.ModuleDict({name: nn.Linear(width, seen) for name, width in widths.items()})
        if widths:
            self.seen = nn.Linear(seen * len(widths), sizes.width)
            nn.init.zeros_(self.seen.weight)
            nn.init.zeros_(self.seen.bias)

    def forward(self, numbers, letters, places, inside, features=None):
        batch, count = inside.shape
        entered = self.numbers(numbers) + self.spelling(self.letters(letters.long()).flatten(2))
        if self.names:
            parts = [self.see[name](F.dropout(features[name], 0.1, self.training)) for name in self.names]
            entered = entered + self.seen(F.relu(torch.cat(parts, -1)))
        lines = self.enter(F.relu(entered))
        pairs = F.relu(self.geometry(pair_geometry(places, torch)))
        pairs = F.relu(self.geometry_deep(pairs))
        biases = self.biases(pairs).permute(0, 3, 1, 2) + torch.where(inside, 0.0, -1e4)[:, None, None]
        for block, bias in zip(self.blocks, biases.chunk(self.sizes.layers, 1), strict=True):
            lines = block(lines, bias)
        lines = self.norm(lines)
        first, second = self.matches(lines).view(batch, count, 2, 4, -1).permute(2, 0, 3, 1, 4)
        scores = first @ second.transpose(2, 3) / self.sizes.match**0.5 + self.pair_geometry(pairs).permute(0, 3, 1, 2)
        before = scores[:, :1] - scores[:, :1].transpose(2, 3)
        others = scores[:, 1:] + scores[:, 1:].transpose(2, 3)
        return self.roles(lines), torch.cat([before, others], 1)


class Data:
    """The pages, with the features of some sources."""

    def __init__(self, folder, names):
        found = pickle.loads((folder / "tokens.pickle").read_bytes())
        self.made, self.tests = found["made"], found["tests"]
        self.widths = {name: found["widths"][name] for name in names}
        self.stats = {name: tuple(map(torch.from_numpy, found["stats"][name])) for name in names}
        self.arrays = {
            (stem, name): np.memmap(folder / f"{stem}.{name}.f16", np.float16, "r", shape=(count, self.widths[name]))
            for stem, count in found["files"]
            for name in names
        }

    def batch(self, entries, device):
        tokens = [entry[0] for entry in entries]
        most = max(len(each.numbers) for each in tokens)

        def padded(arrays, value=0.0):
            made = np.full((len(arrays), most, *arrays[0].shape[1:]), value, arrays[0].dtype)
            for row, array in zip(made, arrays, strict=True):
                row[: len(array)] = array
            return torch.from_numpy(made)

        batch = StructureBatch(
            numbers=padded([each.numbers for each in tokens]),
            letters=padded([each.letters for each in tokens]),
            places=padded([each.places for each in tokens], 1.0),
            inside=padded([np.ones(len(each.numbers), bool) for each in tokens]),
            lines=padded([np.ones(each.num_lines, bool) for each in tokens]),
            truth=padded([entry[1] for entry in entries], -1),
        ).to(device)
        features = {}
        for name, (mean, spread) in self.stats.items():
            own = padded(
                [self.arrays[entry[4], name][entry[3] : entry[3] + entry[0].num_lines] for entry in entries]
            ).to(device)
            normal = ((own.float() - mean.to(device)) / spread.to(device)).clamp(-8, 8)
            features[name] = normal * batch.lines[..., None]  # rules see nothing
        return batch, features

    def epoch(self, rng, pairs):
        """Yields batches' entries of like length."""
        pages = self.made["train"][:]
        rng.shuffle(pages)
        parts = []
        for start in range(0, len(pages), 400):
            some = sorted(pages[start : start + 400], key=lambda entry: len(entry[0].numbers))
            first = 0
            for end in range(1, len(some) + 1):
                if end == len(some) or (end + 1 - first) * len(some[end][0].numbers) ** 2 > pairs:
                    parts.append(some[first:end])
                    first = end
        rng.shuffle(parts)
        yield from parts


@torch.no_grad()
def measure(net, data, split, device, most=None):
    """Returns figures by genre and of all, losses, and each page's characters in another place."""
    from tests.benchmarks.quality.scoring.structure_scores import Scores

    net.eval()
    scores, losses, moved = defaultdict(Scores), defaultdict(list), []
    entries, pages = data.made[split][:most], data.tests[split][:most]
    for entry, page in zip(entries, pages):
        batch, features = data.batch([entry], device)
        roles, pairs = net(batch.numbers, batch.letters, batch.places, batch.inside, features)
        for name, value in structure_losses(roles, pairs, batch).items():
            losses[name].append(float(value))
        count = len(page.lines)
        said = decoded(page, roles[0, :count].float().cpu().numpy(), pairs[0, :, :count, :count].float().cpu().numpy())
        for group in (page.genre, "all"):
            scores[group].add(page, said)
        moved.append((page.genre, num_moved(page, said), page.num_characters))
    net.train()
    figures = {
        group: {"pages": own.pages, "characters": own.characters, **own.as_dict(), "counts": {**own.hits, "cells": own.cells, "joined": own.joined}}
        for group, own in sorted(scores.items())
    }
    means = {name: float(np.nanmean(values)) for name, values in losses.items()}
    return {"figures": figures, "losses": means, "moved": moved}


def train(args):
    from ocr.learning.learning_loop import MeanWeights
    from safetensors.torch import load_file

    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    device = torch.device(args.device)
    data = Data(args.out, ARMS[args.arm])
    sizes = StructureSizes(**json.loads((args.weights / SIZES).read_text(encoding="utf-8")))
    net = VisionNet(sizes, data.widths)
    if not args.scratch:
        stored = {name: value.float() for name, value in load_file(args.weights / WEIGHTS).items()}
        missing, unexpected = net.load_state_dict(stored, strict=False)
        assert not unexpected and all(name.startswith("see") for name in missing), (missing, unexpected)
    net = net.to(device).train()
    name = "start" if args.first else f"{args.arm}-{args.seed}" + ("-scratch" if args.scratch else "")
    folder = args.results / name
    folder.mkdir(parents=True, exist_ok=True)
    result = {"arm": args.arm, "seed": args.seed, "scratch": args.scratch, "checks": []}

    def write():
        made = folder / "result.new"
        made.write_text(json.dumps(result), encoding="utf-8")
        made.replace(folder / "result.json")

    mean = MeanWeights(net, every=4, keep=0.995, young=40)
    new = [p for n, p in net.named_parameters() if n.startswith("see")]
    old = [p for n, p in net.named_parameters() if not n.startswith("see")]
    rate = args.rate * (5 if args.scratch else 1)
    groups = [{"params": old, "lr": rate}] + ([{"params": new, "lr": 1e-3}] if new else [])
    optimiser = torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.01)
    for group in optimiser.param_groups:
        group["initial_lr"] = group["lr"]
    if args.first:
        for split in ("seen", "held"):
            result[split] = measure(net, data, split, device)
            write()
        return
    parameters, begun, step, total, seen = list(net.parameters()), time.monotonic(), 0, args.steps, []
    pace_file, steps_file = folder / "pace", args.results / "steps"
    epoch, epochs, checked, parts = iter(()), 0, 0, None
    while not total or step < total:
        if not total and step % 20 == 0:
            pace_file.write_text(f"{step} {time.monotonic() - begun}")
            if steps_file.exists():
                total = int(steps_file.read_text())
        if args.deadline and time.time() > args.deadline:
            result["cut short"] = True
            break
        entries = next(epoch, None)
        if entries is None:
            epoch, epochs = data.epoch(rng, args.pairs), epochs + 1
            continue
        share = step / total if total else 0.0
        factor = min(1.0, (step + 1) / 100, 1.0 if share <= 0.4 else (1 - share) / 0.6)
        for group in optimiser.param_groups:
            group["lr"] = group["initial_lr"] * factor
        batch, features = data.batch(entries, device)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            roles, pairs = net(batch.numbers, batch.letters, batch.places, batch.inside, features)
        losses = structure_losses(roles.float(), pairs.float(), batch)
        optimiser.zero_grad(set_to_none=True)
        torch.stack(list(losses.values())).sum().backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        step += 1
        mean.update(step)
        seen.append(torch.stack([value.detach() for value in losses.values()]))
        if step % 200 == 0:
            values = dict(zip(losses, torch.stack(seen).mean(0).tolist()))
            result["checks"].append({"step": step, "epoch": epochs, "seconds": time.monotonic() - begun, **values})
            print(name, step, total, epochs, f"{time.monotonic() - begun:.0f} s", {k: round(v, 4) for k, v in values.items()}, flush=True)
            seen = []
            write()
        if total and step == total // 2:
            half = {split: measure(mean.net, data, split, device, 120) for split in ("seen", "held")}
            result["half"] = {split: {"all": v["figures"].get("all"), "losses": v["losses"]} for split, v in half.items()}
            write()
    mean.save(folder / "structure.safetensors")
    result["steps"], result["epochs"], result["seconds"] = step, epochs, time.monotonic() - begun
    result["parameters"] = sum(p.numel() for p in parameters)
    write()
    for split in ("seen", "held"):
        result[split] = measure(mean.net, data, split, device)
        write()
    print(name, "done", step, {s: (result[s]["figures"].get("all", {}).get("moved"), result[s]["losses"]) for s in ("seen", "held")}, flush=True)


# ---------------------------------------------------------------- the leg


JOBS = [
    ("none", 0), ("finder", 0), ("global", 0), ("global+local", 0), ("none", 1), ("finder", 1), ("global", 1),
    ("global+local", 1), ("patches", 0), ("all", 0), ("all", 1), ("patches", 1),
]


def leg(args):
    began = time.monotonic()
    end = began + 60 * args.minutes - 45
    results = args.results
    results.mkdir(parents=True, exist_ok=True)
    summary = {"jobs": {}, "notes": []}

    def collect():
        for file in sorted(results.glob("*/result.json")):
            try:
                summary["jobs"][file.parent.name] = json.loads(file.read_text(encoding="utf-8"))
            except ValueError:
                continue
        summary["seconds"] = time.monotonic() - began
        made = results / "results.new"
        made.write_text(json.dumps(summary), encoding="utf-8")
        made.replace(results / "results.json")

    device = args.device
    shards = 2 if args.workers >= 6 else 1
    making = args.making or 0.3 * 60 * args.minutes
    each = max(1, (args.workers - shards) // shards)
    logs = [open(results / f"make{n}.log", "w") for n in range(shards)]
    own = [sys.executable, str(Path(__file__).resolve())]
    makers = [
        subprocess.Popen(
            [*own, "make", str(args.out), "--data", str(args.data), "--seconds", str(making), "--workers", str(each),
             "--shard", str(n), "--device", device, "--most", str(args.most // shards), "--sources", ",".join(args.sources)],
            stdout=logs[n], stderr=subprocess.STDOUT,
        )
        for n in range(shards)
    ]
    for maker in makers:
        if maker.wait():
            summary["notes"].append("a maker failed")
    summary["counts"] = tokenise(args)
    pictures = args.data.parent / "real"
    if pictures.is_dir():
        with open(results / "real.log", "w") as log:
            subprocess.Popen([*own, "real", str(args.out), "--data", str(pictures), "--results", str(results), "--device", device], stdout=log, stderr=subprocess.STDOUT)
    summary["held genres"], summary["made in"] = HELD, time.monotonic() - began
    collect()
    jobs = [(arm, seed) for arm, seed in JOBS if set(ARMS[arm]) <= set(args.sources)][: args.jobs]
    begun, running = time.monotonic(), []
    # How many steps there is time for, said to all once all have a pace.
    tests = sum(counts[0] for split, counts in summary["counts"].items() if split != "train")
    reserve = 15 + 0.04 * (tests + 240)
    deadline = time.time() + end - time.monotonic() - reserve + 10
    for arm, seed in [*jobs, ("none", -1)]:
        log = open(results / f"{arm}-{seed}.log", "w")
        command = [*own, "train", str(args.out), "--arm", arm, "--seed", str(seed), "--results", str(results), "--device", device,
                   "--rate", str(args.rate), "--pairs", str(args.pairs), "--steps", str(args.steps), "--deadline", str(deadline)]
        command += ["--first"] if seed < 0 else []
        running.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT))
    while not args.steps and time.monotonic() < end:
        time.sleep(1)
        paces, spent = [], []
        for arm, seed in jobs:
            file = results / f"{arm}-{seed}" / "pace"
            words = file.read_text().split() if file.exists() else []
            if len(words) == 2 and float(words[1]) > 25 and int(words[0]) >= 40:
                paces.append(int(words[0]) / float(words[1]))
                spent.append(float(words[1]))
        alive = [p for p in running[:-1] if p.poll() is None]
        if len(paces) >= len(alive) or time.monotonic() - begun > 90:
            start = time.monotonic() - begun - min(spent or [0.0])  # the slowest took so long to load
            steps = max(60, int(0.92 * min(paces or [5.0]) * (end - begun - reserve - start)))
            (results / "steps.new").write_text(str(steps))
            (results / "steps.new").replace(results / "steps")
            summary["steps"], summary["paces"] = steps, paces
            print("steps", steps, "paces", paces, flush=True)
            break
    while any(p.poll() is None for p in running) and time.monotonic() < end + 30:
        time.sleep(5)
        collect()
    for process in running:
        if process.poll() is None:
            summary["notes"].append("ended before it was done")
            process.kill()
    collect()
    print("leg over", f"{time.monotonic() - began:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=("make", "real", "tokenise", "train", "leg"))
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--weights", type=Path, default=Path("ocr/training/legs/structure"))
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--making", type=float, default=0)
    parser.add_argument("--most", type=int, default=14_000)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=16)
    parser.add_argument("--shard", type=int, default=0)
    parser.add_argument("--sources", type=lambda text: tuple(text.split(",")), default=SOURCES)
    parser.add_argument("--only-test", action="store_true")
    parser.add_argument("--arm", choices=ARMS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=99)
    parser.add_argument("--pairs", type=int, default=120_000)
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--first", action="store_true", help="only measure what the weights at the start say")
    parser.add_argument("--deadline", type=float, default=0, help="seconds since 1970 when steps end")
    parser.add_argument("--scratch", action="store_true")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    {"make": make, "real": real, "tokenise": tokenise, "train": train, "leg": leg}[args.command](args)


if __name__ == "__main__":
    main()
