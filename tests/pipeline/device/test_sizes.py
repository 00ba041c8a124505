from pathlib import Path

import pytest

from pipeline.config.schema import Config
from pipeline.device import sizes
from pipeline.device.sizes import (
    DECODE_SLOTS,
    ENCODE_PAGES,
    decode_slots,
    encode_pages,
    inflight_mb,
    kv_bytes,
)


def sized(batch_size: int | None) -> Config:
    return Config.model_validate({"decode": {"batch_size": batch_size}})


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_what_is_configured_bounds_both(device: str) -> None:
    assert (encode_pages(sized(None), device), decode_slots(sized(None), device)) == (
        ENCODE_PAGES[device],
        DECODE_SLOTS[device],
    )
    assert (encode_pages(sized(1), device), decode_slots(sized(1), device)) == (1, 1)
    assert (encode_pages(sized(1000), device), decode_slots(sized(1000), device)) == (
        ENCODE_PAGES[device],
        1000,
    )


def test_keys_and_values_take_a_share_of_the_free_memory_of_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "available_bytes", lambda: 1000)
    assert kv_bytes("cpu") == 500
    assert kv_bytes("cuda") is None
    monkeypatch.setattr(sizes, "available_bytes", lambda: None)
    assert kv_bytes("cpu") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [("MemTotal: 9 kB\nMemAvailable:   12 kB\nBuffers: 1 kB\n", 12 << 10), ("MemTotal: 9 kB\n", None)],
)
def test_free_memory_is_the_kernels_figure(
    text: str, expected: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "read_text", lambda self, encoding: text)
    assert sizes.available_bytes() == expected


def test_a_machine_that_does_not_say_has_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(self: Path, encoding: str) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", missing)
    assert sizes.available_bytes() is None


def test_memory_is_the_least_of_machine_and_container(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    assert sizes.available_bytes(tmp_path) is None
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    4096 kB\n")
    assert sizes.available_bytes(tmp_path) == 4096 << 10
    group = tmp_path / "sys" / "fs" / "cgroup"
    group.mkdir(parents=True)
    (group / "memory.stat").write_text("anon 700\ninactive_file 200\n")
    (group / "memory.max").write_text("max\n")
    (group / "memory.current").write_text("1000\n")
    assert sizes.available_bytes(tmp_path) == 4096 << 10
    (group / "memory.max").write_text("5000\n")
    assert sizes.available_bytes(tmp_path) == 4200, "what files take is given back"


@pytest.mark.parametrize(
    ("configured", "device", "readers", "available_gib", "expected"),
    [
        (None, None, 0, 64, 512),
        (None, "cpu", 16, 64, 512),
        (None, None, 80, 64, 1600),
        (None, None, 80, 4, 1024),
        (None, "cuda", 0, 64, 4096),
        (None, "cuda", 0, 8, 2048),
        (None, "cuda", 0, 1, 512),
        (None, "cuda", 0, None, 512),
        (100, "cuda", 80, 64, 100),
    ],
)
def test_beside_a_gpu_and_for_many_readers_more_pages_wait_for_their_turn(
    configured: int | None,
    device: str | None,
    readers: int,
    available_gib: int | None,
    expected: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    available = None if available_gib is None else available_gib << 30
    monkeypatch.setattr(sizes, "available_bytes", lambda: available)
    assert (
        inflight_mb(Config.model_validate({"run": {"inflight_mb": configured}}), device, readers) == expected
    )
