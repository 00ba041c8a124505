"""Computes SHA-256 of files, remembered between runs for large ones: hashing 6.7 GB adds 4 s and more to a start."""

import contextlib
import hashlib
import json
import os
import time
from pathlib import Path

_LEAST_BYTES = 64 << 20
# A file changed this recently could change again without a new time stamp: some are as coarse as two seconds.
_SETTLED_NS = 10_000_000_000


def file_sha256(path: Path) -> bytes:
    """Returns the digest of the file's content.

    A large file that was hashed before is not read again while its size, inode and times (of its content and
    of its entry, which no program can set) are unchanged. Raises: OSError.
    """
    before = path.stat()
    if before.st_size < _LEAST_BYTES:
        return _hashed(path)
    key, stamp = str(path.resolve()), _stamp(before)
    entry = _remembered().get(key)
    if isinstance(entry, dict) and entry.get("stamp") == stamp and len(entry.get("sha256", "")) == 64:
        return bytes.fromhex(entry["sha256"])
    digest = _hashed(path)
    unchanged = _stamp(path.stat()) == stamp
    if unchanged and time.time_ns() - max(before.st_mtime_ns, before.st_ctime_ns) > _SETTLED_NS:
        _remember(key, {"stamp": stamp, "sha256": digest.hex()})
    return digest


def _hashed(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _stamp(found: os.stat_result) -> list[int]:
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev]


def _memory() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "ocrbatch" / "digests.json"


def _remembered() -> dict[str, object]:
    try:
        entries = json.loads(_memory().read_text(encoding="utf-8"))
    except (OSError, ValueError, RuntimeError):  # RuntimeError: nobody's home
        return {}
    return entries if isinstance(entries, dict) else {}


def _remember(key: str, entry: dict[str, object]) -> None:
    """Stores a digest where that is possible, and drops those of files that are gone."""
    with contextlib.suppress(OSError, RuntimeError):
        memory = _memory()
        kept = {path: known for path, known in _remembered().items() if os.path.exists(path)}
        memory.parent.mkdir(parents=True, exist_ok=True)
        partial = memory.with_name(f"{memory.name}.{os.getpid()}")
        partial.write_text(json.dumps(kept | {key: entry}, indent=1), encoding="utf-8")
        partial.replace(memory)
