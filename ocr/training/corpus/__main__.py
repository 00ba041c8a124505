"""Builds the raw material of training pages: `python -m ocr.training.corpus OUT_DIR`.

Needs Debian or Ubuntu with up-to-date package lists (`apt-get update`) and the extra `train`. Named packages of
Debian's main section (free licences only) are downloaded and unpacked into the cache folder; nothing is installed.
OUT_DIR then holds

- text/<category>.txt.xz: paragraphs separated by a blank line (UTF-8, NFC),
- fonts/index.json and fonts/: fonts cut down to the characters of pages,
- pdfs/index.json and pdfs/{train,valid}/: born-digital pages with a sound text layer,
- pictures/index.json and pictures/*.jpg: photographs and drawings without letters,
- characters.json: those to learn, which are the shipped line reader's (change them for another reader),
- manifest.json: every package with its version and licence, and the sizes.

Three more parts are built where --only names them: business (text/business.txt.xz, made-up particulars of many
countries), hands (typefaces of handwriting; needs npm) and scans (real ones with transcriptions; needs --mirrors).
"""

import argparse
import json
import lzma
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ocr.line_reader.reading import LineReader
from ocr.model_files.locate import LINES, SHIPPED, find_directory
from ocr.training.corpus.font_files import build_family, build_hands, load_table
from ocr.training.corpus.packages import CorpusError, Package, fetch
from ocr.training.corpus.pdfs import build_pdfs, load_packages
from ocr.training.corpus.photographs import build_pictures, load_sources
from ocr.training.corpus.scan_files import build_scans, load_scan_sources
from ocr.training.corpus.texts import build_texts, load_plan

HERE = Path(__file__).parent
USUAL = ("text", "fonts", "pdfs", "pictures")
PDF_BYTES, PICTURE_BYTES = 40 * 2**20, 5 * 2**20  # at most
SHOWN = ("families", "documents", "pictures", "paragraphs", "bytes")
Facts = dict[str, object]


def build(options: argparse.Namespace) -> Facts:
    """Builds the parts of the corpus under `options.out`; returns the manifest, which it also writes.

    A part that is not built keeps its entry of an earlier manifest. Raises CorpusError.
    """
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    if not (out / "characters.json").exists():
        reader = (find_directory(SHIPPED) / LINES / "reader.json").read_text(encoding="utf-8")
        _write(out / "characters.json", json.loads(reader)["characters"])
    path = out / "manifest.json"
    manifest: Facts = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for part in options.only or USUAL:
        if part != "business":  # which is one more text
            shutil.rmtree(out / part, ignore_errors=True)
            (out / part).mkdir(parents=True)
        manifest[part] = PARTS[part](options, out)
    _write(path, manifest)
    return manifest


def _fonts(options: argparse.Namespace, out: Path) -> Facts:
    table = load_table(HERE / "fonts.yaml")
    packages = fetch([name for entry in table for name in entry["packages"]], options.cache)
    index = [build_family(entry, packages, out / "fonts") for entry in table]
    return {"families": len(index), **_indexed(index, out / "fonts", packages)}


def _text(options: argparse.Namespace, out: Path) -> Facts:
    plan = load_plan(HERE / "texts.yaml")
    packages = fetch([name for source in plan.sources for name in source.packages], options.cache)
    categories = build_texts(plan, packages, out / "text")
    return {"categories": categories, "bytes": _size(out / "text"), "packages": _described(packages)}


def _pdfs(options: argparse.Namespace, out: Path) -> Facts:
    looked_at = load_packages(HERE / "pdfs.yaml")
    packages = fetch(looked_at, options.cache)
    words, folder = vocabulary(out / "text"), out / "pdfs"
    index = build_pdfs(packages, looked_at, words, folder, budget_bytes=PDF_BYTES)
    used = {entry["package"] for entry in index}
    facts = _indexed(index, folder, {name: found for name, found in packages.items() if name in used})
    return {"documents": len(index), "pages": sum(len(entry["pages"]) for entry in index), **facts}


def _pictures(options: argparse.Namespace, out: Path) -> Facts:
    sources = load_sources(HERE / "pictures.yaml")
    packages = fetch([source.package for source in sources], options.cache)
    index = build_pictures(sources, packages, out / "pictures", budget_bytes=PICTURE_BYTES)
    return {"pictures": len(index), **_indexed(index, out / "pictures", packages)}


def _business(options: argparse.Namespace, out: Path) -> Facts:
    from ocr.training.corpus.business import build_business

    characters = json.loads((out / "characters.json").read_text(encoding="utf-8"))
    (out / "text").mkdir(exist_ok=True)
    return build_business(out / "text" / "business.txt.xz", characters)


def _scans(options: argparse.Namespace, out: Path) -> Facts:
    if not options.mirrors:
        raise CorpusError(
            "scans are taken from git copies of their repositories: name their folder with --mirrors"
        )
    reader = LineReader.load(find_directory(SHIPPED) / LINES)
    return build_scans(load_scan_sources(), options.mirrors, out / "scans", reader)


PARTS: dict[str, Callable[[argparse.Namespace, Path], Facts]] = {
    "text": _text,
    "fonts": _fonts,
    "pdfs": _pdfs,
    "pictures": _pictures,
    "business": _business,
    "hands": lambda _, out: {"packages": build_hands(out / "hands")},
    "scans": _scans,
}


def vocabulary(texts: Path) -> frozenset[str]:
    """Returns the words (lower case, seen at least twice) of the prose and language files of a built text part.

    Raises CorpusError when there are none.
    """
    counts: Counter[str] = Counter()
    for path in sorted(texts.glob("*.txt.xz")):
        if path.name != "code.txt.xz":
            counts.update(re.findall(r"[^\W\d_]{3,}", lzma.decompress(path.read_bytes()).decode().lower()))
    if not counts:
        raise CorpusError(f"{texts} holds no text: build the part text before pdfs")
    return frozenset(word for word, count in counts.items() if count > 1)


def _indexed(index: list[Any], folder: Path, packages: dict[str, Package]) -> Facts:
    """Writes a part's index; returns what the manifest says of the part."""
    _write(folder / "index.json", index)
    return {"bytes": _size(folder), "packages": _described(packages)}


def _described(packages: dict[str, Package]) -> dict[str, dict[str, str]]:
    return {name: {"version": found.version, "licence": found.licence} for name, found in packages.items()}


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns 0, or 1 when the corpus cannot be built."""
    parser = argparse.ArgumentParser(prog="python -m ocr.training.corpus", description=__doc__)
    parser.add_argument("out", type=Path, help="folder the corpus is written to")
    parser.add_argument(
        "--cache", type=Path, default=Path.home() / ".cache/ocrbatch-corpus", help="downloads"
    )
    parser.add_argument("--only", choices=PARTS, action="append", help="build this part (may be given twice)")
    parser.add_argument(
        "--mirrors",
        type=Path,
        help="folder of bare git copies of the repositories of scans.yaml, as <owner>+<name>/repo",
    )
    options = parser.parse_args(arguments)
    try:
        manifest = build(options)
    except CorpusError as error:
        print(error, file=sys.stderr)
        return 1
    for part, facts in manifest.items():
        if isinstance(facts, dict):
            print(part, {name: value for name, value in facts.items() if name in SHOWN})
    return 0


if __name__ == "__main__":
    sys.exit(main())
