"""Adds typefaces of handwriting to a corpus: `python -m ocr.training.corpus.hand_files OUT_DIR`.

Needs npm, which downloads the packages of hands.yaml; nothing is installed. OUT_DIR/hands then holds one font a family.
"""

import argparse
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import yaml
from fontTools.ttLib import TTFont

from ocr.training.corpus.packages import CorpusError

TABLE = Path(__file__).with_name("hands.yaml")
_MEMBER = "package/files/{name}-latin-400-normal.woff"


def build_hands(out: Path, table: Path = TABLE) -> dict[str, dict[str, str]]:
    """Writes out/<family>.ttf; returns version and licence of each package. Raises CorpusError."""
    listed = yaml.safe_load(table.read_text(encoding="utf-8"))
    out.mkdir(parents=True, exist_ok=True)
    for name in listed["families"]:
        (out / f"{name}.ttf").write_bytes(plain_font(_downloaded(name, listed["version"]), name))
    return {
        f"@fontsource/{name}": {"version": listed["version"], "licence": "OFL-1.1"}
        for name in listed["families"]
    }


def plain_font(archive: bytes, name: str) -> bytes:
    """Returns the regular Latin font of a package, not compressed. Raises CorpusError if it has none."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        try:
            found = members.extractfile(_MEMBER.format(name=name))
        except KeyError as error:
            raise CorpusError(f"{name} has no {_MEMBER.format(name=name)}: take another family") from error
        assert found
        font = TTFont(io.BytesIO(found.read()))
    font.flavor = None
    out = io.BytesIO()
    font.save(out)
    return out.getvalue()


def _downloaded(name: str, version: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", "--silent", f"@fontsource/{name}@{version}"]
        try:
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise CorpusError(f"{' '.join(command)} failed: {error}") from error
        return next(Path(folder).glob("*.tgz")).read_bytes()


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns 0, or 1 when a package cannot be had."""
    parser = argparse.ArgumentParser(prog="python -m ocr.training.corpus.hand_files", description=__doc__)
    parser.add_argument("out", type=Path, help="folder of the corpus")
    options = parser.parse_args(arguments)
    try:
        told = build_hands(options.out / "hands")
    except CorpusError as error:
        print(error, file=sys.stderr)
        return 1
    file = options.out / "manifest.json"
    manifest = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    manifest["hands"] = {"packages": told}
    file.write_text(json.dumps(manifest, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
