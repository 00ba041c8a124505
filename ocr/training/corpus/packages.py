"""Downloads named Debian packages with apt, unpacks them into a cache, and reads their licences.

Needs Debian or Ubuntu (`apt-get`, `dpkg-deb`) with up-to-date package lists. Nothing is installed.
"""

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml

_TABLE = yaml.safe_load(Path(__file__).with_name("excluded.yaml").read_text(encoding="utf-8"))
EXCLUDED, EXCLUDED_FAMILIES = frozenset(_TABLE["packages"]), tuple(_TABLE["beginnings"])
"""The evaluation sets' packages, and the beginnings of the names of those that come in several parts or languages.

Their documents never enter training, neither as text nor as pages.
"""

_KNOWN_LICENCES: dict[str, str] = yaml.safe_load(
    Path(__file__).with_name("licences.yaml").read_text(encoding="utf-8")
)


class CorpusError(RuntimeError):
    """The corpus cannot be built; the message says which package or file and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """An unpacked package: `root` holds its files as they would lie under `/`."""

    name: str
    version: str
    licence: str
    root: Path


def is_excluded(name: str) -> bool:
    """Returns whether a package belongs to the evaluation set."""
    return name in EXCLUDED or name.startswith(EXCLUDED_FAMILIES)


def refuse_excluded(names: Iterable[str]) -> None:
    """Raises CorpusError if one of `names` belongs to the evaluation set."""
    for name in names:
        if is_excluded(name):
            raise CorpusError(f"{name} belongs to the evaluation set: take it out of the corpus tables")


def fetch(names: Iterable[str], cache: Path) -> dict[str, Package]:
    """Returns the packages by name, downloaded and unpacked under `cache` (kept there for the next run).

    Raises CorpusError for an excluded package, a failed download or a package that cannot be unpacked.
    """
    wanted = sorted(set(names))
    refuse_excluded(wanted)
    return download(wanted, cache)


def download(names: Iterable[str], cache: Path) -> dict[str, Package]:
    """Returns packages as `fetch` does, but of any name: for the evaluation set, never for a corpus.

    Raises CorpusError for a failed download or a package that cannot be unpacked.
    """
    wanted = sorted(set(names))
    debs, trees = cache / "debs", cache / "pkg"
    debs.mkdir(parents=True, exist_ok=True)
    trees.mkdir(parents=True, exist_ok=True)
    missing = [name for name in wanted if _deb(debs, name) is None]
    if missing:
        _run(["apt-get", "download", "-q", *missing], debs)
    return {name: _unpack(name, debs, trees) for name in wanted}


def licence(copyright_text: str) -> str:
    """Returns short licence names found in a Debian copyright file: its `License:` fields, else known phrases."""
    if "Format:" in copyright_text[:400]:
        fields = re.findall(r"^License:[ \t]*(\S.*)$", copyright_text, re.MULTILINE)
        names = dict.fromkeys(field.strip() for field in fields)
        if names:
            return ", ".join(list(names)[:8])
    flat = " ".join(copyright_text.split())
    found = dict.fromkeys(short for phrase, short in _KNOWN_LICENCES.items() if phrase in flat)
    return ", ".join(found) or "see the package's copyright file"


def _deb(debs: Path, name: str) -> Path | None:
    return next(iter(sorted(debs.glob(f"{name}_*.deb"))), None)


def _unpack(name: str, debs: Path, trees: Path) -> Package:
    deb = _deb(debs, name)
    if deb is None:
        raise CorpusError(f"{name} was not downloaded: check that apt knows it (apt-cache policy {name})")
    root = trees / name
    if not (root / ".unpacked").exists():
        _run(["dpkg-deb", "-x", str(deb), str(root)], debs)
        (root / ".unpacked").touch()
    version = deb.name.split("_")[1].replace("%3a", ":")
    return Package(name=name, version=version, licence=_licence_of(root, name), root=root)


def _licence_of(root: Path, name: str) -> str:
    folder = root / "usr/share/doc" / name
    if folder.is_symlink():  # a package of the same source shares its notice
        return f"as {folder.readlink().name}"
    notice = folder / "copyright"
    return licence(notice.read_text(encoding="utf-8", errors="replace") if notice.is_file() else "")


def _run(command: list[str], folder: Path) -> None:
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise CorpusError(f"{command[0]} is missing: build the corpus on Debian or Ubuntu") from error
    except subprocess.CalledProcessError as error:
        tail = error.stderr.strip().splitlines()[-3:]
        raise CorpusError(f"{' '.join(command[:2])} failed: {' / '.join(tail)}") from error
