"""real.py prep SETS | real.py eval RESULTS: order on pages with a truth, as networks that see pixels put their lines."""
import json, pickle, sys, time
from collections import defaultdict
from pathlib import Path
import numpy as np, torch
from PIL import Image
sys.path.insert(0, str(Path(__file__).parent))
import vision_trial as v
from safetensors.torch import load_file
from ocr.line_reader.faint_print import darkened
from ocr.line_reader.page_ink import PageInk
from ocr.line_reader.page_text import lines_of_text
from ocr.line_reader.reading import LineReader, darkness_of
from ocr.line_reader.reading_order import in_reading_order, _parts
from ocr.line_reader.levelling import levelled
from ocr.model_files.locate import LINES, find_directory
from ocr.line_networks.structure_net import StructureSizes
from ocr.line_reader.structure_network import SIZES, StructureNetwork, shipped
from tests.benchmarks.quality.readings.engines import Reading
from tests.benchmarks.quality.scoring.scores import score

torch.set_num_threads(1)
DIR, KEPT = Path("unseen"), Path("kept")
v.SCALE = 1.0


def lines_of_picture(picture, reader):
    with Image.open(picture) as image:
        grey = darkened(np.asarray(image.convert("L")))
    darkness, ink = darkness_of(grey), PageInk.of(grey)
    rules = [*((rule.x0, rule.y, rule.x1, rule.y) for rule in ink.rules), *ink.uprights]
    lines = lines_of_text(reader.read(darkness, reader.find(darkness)))
    boxes = np.array([(l.line.left, l.line.middle - 0.75 * l.line.size, l.line.right, l.line.middle + 0.22 * l.line.size, l.line.size) for l in lines], np.float32).reshape(-1, 5)
    return lines, darkness.shape[::-1], rules, grey, boxes


def pack(sets):
    """Lines are read here, pictures and boxes travel to where features are made."""
    import io, tarfile
    KEPT.mkdir(exist_ok=True)
    reader = LineReader.load(find_directory("small") / LINES)
    travels = Path("travels/real"); travels.mkdir(parents=True, exist_ok=True)
    for name in sets:
        for picture in sorted((DIR / name).iterdir()):
            lines, size_px, rules, grey, boxes = lines_of_picture(picture, reader)
            (KEPT / f"{name}+{picture.name}.lines").write_bytes(pickle.dumps((lines, size_px, rules)))
            if not lines: continue
            ratio = min(1.0, 1920 / max(grey.shape))
            small = Image.fromarray(grey)
            if ratio < 1: small = small.resize((round(small.width * ratio), round(small.height * ratio)), Image.Resampling.LANCZOS)
            small.save(travels / f"{name}+{picture.name}.webp", quality=80, method=4)
            np.save(travels / f"{name}+{picture.name}.npy", boxes * ratio)
            print(picture.name, len(lines), flush=True)


def prep(sets):
    KEPT.mkdir(exist_ok=True)
    reader = LineReader.load(find_directory("small") / LINES)
    features = v.Features(torch.device("cpu"), v.SOURCES)
    for name in sets:
        for picture in sorted((DIR / name).iterdir()):
            kept = KEPT / f"{name}+{picture.name}.pickle"
            if kept.is_file():
                continue
            begun = time.process_time()
            with Image.open(picture) as image:
                grey = darkened(np.asarray(image.convert("L")))
            darkness, ink = darkness_of(grey), PageInk.of(grey)
            rules = [*((rule.x0, rule.y, rule.x1, rule.y) for rule in ink.rules), *ink.uprights]
            lines = lines_of_text(reader.read(darkness, reader.find(darkness)))
            read = time.process_time()
            made = {}
            if lines:
                boxes = torch.tensor([(l.line.left, l.line.middle - 0.75 * l.line.size, l.line.right, l.line.middle + 0.22 * l.line.size, l.line.size) for l in lines], dtype=torch.float32)
                [made] = features.of(torch.from_numpy(np.ascontiguousarray(grey))[None, None], [boxes])
            kept.write_bytes(pickle.dumps((lines, darkness.shape[::-1], rules, made)))
            print(kept.name, len(lines), f"{read - begun:.1f} {time.process_time() - read:.1f}", flush=True)


class Seeing:
    def __init__(self, net, stats, features, lines):
        self.net, self.stats = net, stats
        level = levelled([read.line for read in lines])
        self.parts = iter([{n: features[n][part] for n in stats} for part in _parts(level)])

    @torch.no_grad()
    def logits(self, tokens):
        own, count = next(self.parts), len(tokens.numbers)
        given = {}
        for name, (mean, spread) in self.stats.items():
            x = torch.zeros(1, count, len(mean))
            x[0, : tokens.num_lines] = ((torch.from_numpy(own[name]).float() - mean) / spread).clamp(-8, 8)
            given[name] = x
        roles, pairs = self.net(*(torch.from_numpy(a)[None] for a in (tokens.numbers, tokens.letters, tokens.places)), torch.ones(1, count, dtype=torch.bool), given)
        n = tokens.num_lines
        return roles[0, :n].numpy(), pairs[0, :, :n, :n].numpy()


def evaluate(results):
    entries = json.loads((DIR / "manifest.json").read_text())["pages"]
    networks = {"ships": None, "leg": "leg"}
    stats = pickle.loads((results / "stats.pickle").read_bytes())
    sizes = StructureSizes(**json.loads((Path("ocr/training/legs/structure") / SIZES).read_text()))
    for file in sorted(results.glob("*/structure.safetensors")):
        arm = file.parent.name.rsplit("-", 1)[0]
        net = v.VisionNet(sizes, {n: len(stats[n][0]) for n in v.ARMS[arm]})
        net.load_state_dict({k: x.float() for k, x in load_file(file).items()})
        networks[file.parent.name] = (net.eval(), {n: tuple(map(torch.from_numpy, stats[n])) for n in v.ARMS[arm]})
    counts = defaultdict(lambda: [0, 0, 0]); pages = defaultdict(dict); heads = defaultdict(lambda: defaultdict(int))
    plain = StructureNetwork(Path("ocr/training/legs/structure"))
    for kept in sorted([*KEPT.glob("*.pickle"), *KEPT.glob("*.lines")]):
        set_name, name = kept.name.rsplit(".", 1)[0].split("+", 1)
        if kept.suffix == ".pickle":
            lines, size_px, rules, features = pickle.loads(kept.read_bytes())
        else:
            lines, size_px, rules = pickle.loads(kept.read_bytes())
            made = results / "real" / f"{kept.name.removesuffix('.lines')}.npz"
            if not made.is_file(): continue
            features = dict(np.load(made))
        entry = entries[Path(name).stem]
        if entry["handwriting"]:
            continue
        truth = (DIR / "truth" / name / "1.txt").read_text(encoding="utf-8")
        known = {}
        for network, own in networks.items():
            if own is None or own == "leg":
                asked = shipped() if own is None else plain
            else:
                asked = Seeing(*own, features, lines) if lines else None
            units = in_reading_order(lines, size_px, asked, rules=rules)
            text = "\n".join(" ".join(line.text for line in row) for unit in units for row in unit.rows)
            if text not in known:
                known[text] = score(name, "", truth, Reading(text=text, status="ok"), any_case=entry["any_case"]).folded
            edits = known[text]
            for unit in units:
                heads[network][unit.role] += sum(map(len, unit.rows))
            for kind in (entry["category"], "all"):
                for at, number in enumerate((1, edits.length, edits.num_edits)):
                    counts[network, set_name, kind][at] += number
            pages[network][name] = (set_name, entry["category"], edits.length, edits.num_edits)
    out = {"|".join(k): c for k, c in counts.items()}
    Path("real.json").write_text(json.dumps({"counts": out, "pages": pages, "roles": heads}))
    for (network, set_name, kind), (n, length, wrong) in sorted(counts.items(), key=lambda x: (x[0][1], x[0][2], x[0][0])):
        if kind == "all":
            print(f"{set_name:10} {network:16} {n:4} pages {wrong / length:8.3%}")


if sys.argv[1] == "pack":
    pack(sys.argv[2].split(","))
elif sys.argv[1] == "prep":
    prep(sys.argv[2].split(","))
else:
    evaluate(Path(sys.argv[2]))
