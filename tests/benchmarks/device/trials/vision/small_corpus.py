import json, lzma, random, shutil, sys
from pathlib import Path
from ocr.training.corpus.font_files import load_table, lacking
src, out = Path(sys.argv[1]), Path(sys.argv[2])
shutil.rmtree(out, ignore_errors=True)
(out / "fonts").mkdir(parents=True); (out / "text").mkdir()
table = load_table(Path("ocr/training/corpus/fonts.yaml"))
rng = random.Random(3)
index, want, size = [], {"serif": 30, "sans": 26, "mono": 10, "display": 6}, 0
rng.shuffle(table)
table.sort(key=lambda e: -len(e["files"]))
for e in table:
    if e.get("dots") or not want[e["class"]]: continue
    styles = {s: f.replace(" ", "") for s, f in e["files"].items()}
    files = [src / "fonts" / f for f in styles.values()]
    if not all(f.is_file() and f.stat().st_size for f in files) or sum(f.stat().st_size for f in files) > 330_000: continue
    lacks = lacking(src / "fonts" / styles["regular"])
    if len(lacks) > 150: continue
    for f in files: shutil.copy(f, out / "fonts")
    size += sum(f.stat().st_size for f in files)
    want[e["class"]] -= 1
    index.append({"family": e["family"], "class": e["class"], "styles": styles, "lacks": lacks})
(out / "fonts/index.json").write_text(json.dumps(index))
print(len(index), "families", size, want)
skip = {"ga", "eo", "gl", "et", "eu", "cy", "lt", "lv", "is", "sl", "hr", "sk", "vi", "tr", "ca"}
total = 0
for f in sorted((src / "text").glob("*.txt.xz")):
    name = f.name.removesuffix(".txt.xz")
    if name in skip: continue
    text = lzma.decompress(f.read_bytes()).decode()
    most = {"en_prose": 5_000_000, "en_tech": 2_500_000, "code": 700_000, "business": 10**9}.get(name, 400_000)
    paras = text.split("\n\n")
    if len(text) > most:
        step = len(text) / most
        paras = [p for n, p in enumerate(paras) if int(n / step) != int((n - 1) / step)]
    data = lzma.compress("\n\n".join(paras).encode(), preset=6)
    (out / "text" / f.name).write_bytes(data); total += len(data)
print("text", total)
