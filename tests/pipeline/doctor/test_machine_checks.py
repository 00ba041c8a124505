from types import SimpleNamespace

import pytest

from pipeline.config.schema import Config
from pipeline.doctor import machine_checks as machine
from pipeline.doctor.file_checks import REMOTE, mount_of

TABLE = (
    "22 27 0:21 / / rw - ext4 /dev/a rw\n"
    "23 22 0:22 / /srv rw shared:1 - nfs4 host:/x rw\n"
    "24 23 0:23 / /srv/my\\040disk rw - ext4 /dev/b rw\n"
    "25 23 0:23 / /srv/my\\040disk rw - fuse.sshfs host:/y rw\n"
    "broken line\n"
)


@pytest.mark.parametrize(
    ("path", "mount"),
    [
        ("/home/x", ("/", "ext4")),
        ("/srv/data", ("/srv", "nfs4")),
        ("/srvdata", ("/", "ext4")),
        ("/srv/my disk/a", ("/srv/my disk", "fuse.sshfs")),
    ],
)
def test_the_mount_that_holds_a_path(path: str, mount: tuple[str, str]) -> None:
    assert mount_of(path, TABLE) == mount


def test_disks_of_other_hosts() -> None:
    assert {"nfs", "nfs4", "cifs", "fuse.sshfs", "9p"} <= REMOTE
    assert not REMOTE & {"ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "apfs"}


@pytest.mark.parametrize(
    ("free", "states"), [(1 << 20, ["FAIL", "FAIL"]), (1 << 30, ["note", "ok"]), (1 << 40, ["ok", "ok"])]
)
def test_disk_space(free: int, states: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda place: SimpleNamespace(free=free))
    assert [finding.state for finding in machine.check_disk(Config())] == states


@pytest.mark.parametrize(("available", "state"), [(1 << 30, "FAIL"), (64 << 30, "ok")])
def test_too_little_memory(available: int, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "available_bytes", lambda: available)
    assert next(machine.check_memory(Config())).state == state


@pytest.mark.parametrize(("by_lines", "told"), [(True, "a run takes about"), (False, "with a small model")])
def test_memory_is_that_of_what_reads(by_lines: bool, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "has_lines", lambda directory: by_lines)
    monkeypatch.setattr(machine, "line_readers", lambda config: 12)
    monkeypatch.setattr(machine, "render_workers", lambda config: 4)
    monkeypatch.setattr(machine, "available_bytes", lambda: 5 << 30)
    finding = next(machine.check_memory(Config()))
    assert told in finding.found
    assert finding.state == ("FAIL" if by_lines else "ok"), "twelve readers take more than a small model"


def test_memory_is_told_without_a_model() -> None:
    finding = next(machine.check_memory(Config(model="/nowhere")))
    assert "with a small model takes about" in finding.found


def test_packages_out_of_range_and_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"torch": "1.0", "pillow": None}
    monkeypatch.setattr(machine, "_version", lambda name: versions.get(name, "999"))
    findings = {finding.what: finding for finding in machine.check_software(Config())}
    assert findings["torch"].state == findings["pillow"].state == "FAIL"
    assert findings["torch"].found.startswith("1.0 is not >=")
    assert findings["pillow"].found == "not installed"
    assert findings["transformers"].state == "FAIL", "it has an upper bound"
    assert findings["Python"].state == "ok"
    assert "packages" not in findings


def test_an_old_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "python_version", lambda: "3.8.1")
    assert next(machine.check_software(Config())).state == "FAIL"
