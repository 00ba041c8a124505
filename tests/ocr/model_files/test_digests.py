"""Digests of large files are remembered while nothing about the file has changed, and never otherwise."""

import hashlib
import json
import os
import time
from pathlib import Path

import pytest

from ocr.model_files import digests


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path]:
    """The files whose content was read; all count as large, and a cache of its own."""
    read: list[Path] = []
    real = digests._hashed

    def counting(path: Path) -> bytes:
        read.append(path)
        return real(path)

    monkeypatch.setattr(digests, "_hashed", counting)
    monkeypatch.setattr(digests, "_LEAST_BYTES", 4)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return read


def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on it is a minute later."""
    now = time.time_ns() + 60_000_000_000
    monkeypatch.setattr(digests.time, "time_ns", lambda: now)


def test_a_large_file_is_read_once(
    tmp_path: Path, hashed: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "weights"
    file.write_bytes(b"12345")
    settled(monkeypatch)
    expected = hashlib.sha256(b"12345").digest()
    assert [digests.file_sha256(file) for _ in range(3)] == [expected] * 3
    assert hashed == [file]


def test_a_changed_file_is_read_again_whatever_its_times_say(
    tmp_path: Path, hashed: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "weights"
    file.write_bytes(b"12345")
    settled(monkeypatch)
    digests.file_sha256(file)
    before = file.stat()
    time.sleep(0.02)  # the clock of a file system has ticks
    file.write_bytes(b"54321")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert digests.file_sha256(file) == hashlib.sha256(b"54321").digest()


def test_small_and_fresh_files_are_not_remembered(
    tmp_path: Path, hashed: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh, small = tmp_path / "fresh", tmp_path / "small"
    fresh.write_bytes(b"12345")
    small.write_bytes(b"123")
    for path in (fresh, fresh, small, small):
        digests.file_sha256(path)
    assert hashed == [fresh, fresh, small, small]
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    "content", ["nonsense", "[]", '{"FILE": 3}', '{"FILE": {"stamp": 1, "sha256": "00"}}']
)
def test_a_damaged_memory_is_no_memory(
    tmp_path: Path, hashed: list[Path], monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    file = tmp_path / "weights"
    file.write_bytes(b"12345")
    settled(monkeypatch)
    memory = tmp_path / "cache" / "ocrbatch" / "digests.json"
    memory.parent.mkdir(parents=True)
    memory.write_text(content.replace("FILE", str(file)))
    assert digests.file_sha256(file) == hashlib.sha256(b"12345").digest()
    assert json.loads(memory.read_text())[str(file)]["sha256"] == hashlib.sha256(b"12345").hexdigest()


def test_without_a_place_to_remember_it_still_works(
    tmp_path: Path, hashed: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "weights"
    file.write_bytes(b"12345")
    settled(monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    assert digests.file_sha256(file) == digests.file_sha256(file)
    assert hashed == [file, file]


def test_files_that_are_gone_are_forgotten(
    tmp_path: Path, hashed: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"12345")
    second.write_bytes(b"54321")
    settled(monkeypatch)
    digests.file_sha256(first)
    first.unlink()
    digests.file_sha256(second)
    memory = json.loads((tmp_path / "cache" / "ocrbatch" / "digests.json").read_text())
    assert list(memory) == [str(second)]
