"""Typefaces of handwriting, one font a family: packages of npm, named in hands.yaml; nothing is installed."""

import io
import subprocess
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
