"""Checks the files: the model's, the database and its disk, inputs and what else the configuration names.

The model is neither loaded nor downloaded, and no row is written. Imports no torch.
"""

import os
import re
import sqlite3
import struct
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from huggingface_hub import constants, snapshot_download
from huggingface_hub.errors import LocalEntryNotFoundError
from safetensors import SafetensorError, safe_open

from ocr.errors import CheckpointError
from ocr.families.registry import described
from ocr.model_files.digests import file_sha256
from ocr.model_files.locate import (
    LINE_FILES,
    LINES,
    SHIPPED,
    find_directory,
    read_tokenizer,
    weight_files,
)
from pipeline.cluster.machines import unreadable
from pipeline.config.passwords import read_passwords
from pipeline.config.schema import Config, IngestConfig, reads_lines, tile_settings
from pipeline.device.startup.loading import with_word_use
from pipeline.doctor.examination import Finding, fail, fail_of, note, ok, size
from pipeline.errors import ConfigError
from pipeline.ingest.objects.stores import is_folder, reason_of
from storage import schema
from storage.database import open_for_reading
from storage.errors import DatabaseVersionError, NotADatabaseError, StorageError
from storage.lock import owner
from storage.strings.urls import is_url

SUMS = "SHA256SUMS"  # as sha256sum writes and checks it
_SHA256 = re.compile(r"[0-9a-f]{64}")
_WHAT = "database"
# File systems that another host may write to at the same time.
REMOTE = frozenset({
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "coda", "gfs2", "glusterfs", "lustre", "ncpfs",
    "beegfs", "gpfs", "ocfs2", "orangefs", "davfs", "drvfs", "fuse.sshfs", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse",
    "fuse.glusterfs", "fuse.ceph", "fuse.davfs", "fuse.cifs", "fuse.goofys", "fuse.mount-s3",
})  # fmt: skip
_MOUNTS = Path("/proc/self/mountinfo")
_OCTAL = re.compile(r"\\([0-7]{3})")


def check_model(config: Config) -> Iterator[Finding]:
    """Checks files, family, licence, weights, hashes and tokenizer; says what would be downloaded, and does not."""
    try:
        directory = local_directory(config.model)
        if directory is None:
            yield _missing(config.model)
            return
        yield ok("model", f"{config.model} in {directory}")
        yield _network(config.model)
        if reads_lines(config):
            files = [directory / name for name in LINE_FILES]
        else:
            yield from _described(config, directory)
            files = [*weight_files(directory), directory / "config.json", directory / "tokenizer.json"]
        yield from _weights([file for file in files if file.suffix == ".safetensors"])
        yield _hashes(config.model, files)
    except CheckpointError as error:
        yield fail_of("model", error, "fetch the model's files again")


def _described(config: Config, directory: Path) -> Iterator[Finding]:
    family, facts = described(config.model, config.model_entry, directory)
    yield ok("family", family.name)
    if (entry := family.entry(facts)) is not None:
        yield ok("model entry", entry)
    if (against := family.restriction(facts)) is not None:
        yield note("licence", against, "read the model's licence before you use it for a business")
    yield from _words(config)
    tokenizer = read_tokenizer(directory / "tokenizer.json")
    text = "Invoice 1,234.50 €"
    back = tokenizer.decode(tokenizer.encode(text, add_special_tokens=False).ids)
    found = f"{tokenizer.get_vocab_size(with_added_tokens=True)} tokens"
    is_same = back.strip() == text
    yield (
        ok("tokenizer", found) if is_same else note("tokenizer", f"{found}; {text!r} comes back as {back!r}")
    )


def _words(config: Config) -> Iterator[Finding]:
    """Says where the boxes of words come from and what that costs, for a model that does not give them itself."""
    use = tile_settings(with_word_use(config.model_copy(update={"ingest": IngestConfig()}))).words
    if use == "lines":
        found = "boxes from text layers, else by the line reader: some 2 CPU seconds a page (words: layer is without)"
        yield ok("words", found)
    elif use == "layer":
        yield ok("words", "boxes from text layers; those of scans have none (words: lines finds them)")


def _is_on_hub(model: str) -> bool:
    return model != SHIPPED and not Path(model).expanduser().exists()


def local_directory(model: str) -> Path | None:
    """Returns the folder of the model's files on this machine; None for a hub model that is not here.

    Raises: CheckpointError for a name that is not a model's.
    """
    if not _is_on_hub(model) or "/" not in model or model.startswith(("/", ".", "~")):
        return find_directory(model)
    try:
        return Path(snapshot_download(model, local_files_only=True))
    except (LocalEntryNotFoundError, ValueError):
        return None


def _missing(model: str) -> Finding:
    found = f"{model} is not on this machine"
    if constants.HF_HUB_OFFLINE:
        return fail(
            "model", f"{found}, and HF_HUB_OFFLINE forbids downloads", "unset it for one run, or use another"
        )
    return note("model", f"{found}: the first run downloads it", "start that one with network access")


def _network(model: str) -> Finding:
    if not _is_on_hub(model):
        return ok("offline", "the model's files are here; a run opens no network connection")
    if constants.HF_HUB_OFFLINE:
        return ok("offline", "HF_HUB_OFFLINE is set; the model is in the hub's cache")
    return note(
        "offline",
        "the hub is asked whether the model has changed",
        "set HF_HUB_OFFLINE=1 to stay off the network",
    )


def _weights(files: list[Path]) -> Iterator[Finding]:
    """Checks that the files are complete: their headers tell how long they are."""
    num_tensors = 0
    for file in files:
        try:
            with safe_open(file, framework="numpy") as opened:
                num_tensors += len(list(opened.keys()))
        except (SafetensorError, OSError, struct.error) as error:
            yield fail("weights", f"{file} cannot be read ({error})", "fetch the file again")
            return
    total = sum(file.stat().st_size for file in files)
    yield ok("weights", f"{num_tensors} tensors in {len(files)} file{'s'[: len(files) > 1]}, {size(total)}")


def _hashes(model: str, files: list[Path]) -> Finding:
    """Compares hashes with the files' SHA256SUMS, or the hub's cache."""
    recorded = {file: expected for file in files if (expected := _recorded(file))}
    wrong = [file for file, expected in recorded.items() if file_sha256(file).hex() != expected]
    if wrong:
        return fail(
            "model hash",
            f"{', '.join(map(str, wrong))}: not what was published: changed or damaged",
            "install ocrbatch again" if model == SHIPPED else "delete the file and fetch it again",
        )
    if not recorded:
        return note("model hash", "none is recorded for these files, so none was compared")
    return ok("model hash", f"{len(recorded)} of {len(files)} files are as published")


def _recorded(file: Path) -> str | None:
    """Returns a file's recorded sha256 in hex; None if none is recorded."""
    with suppress(OSError, UnicodeDecodeError):
        in_lines = file.parent.name == LINES and not (file.parent / SUMS).exists()
        folder = file.parent.parent if in_lines else file.parent
        for line in (folder / SUMS).read_text(encoding="utf-8").splitlines():
            expected, _, name = line.partition(" ")
            if name.lstrip(" *") == file.relative_to(folder).as_posix() and _SHA256.fullmatch(expected):
                return expected
    blob = os.path.basename(os.path.realpath(file))  # the hub's cache names large files by their sha256
    if file.is_symlink() and _SHA256.fullmatch(blob):
        return blob
    return None


def check_database(config: Config) -> Iterator[Finding]:
    """Checks the configured database without writing a row to it."""
    path = config.store.database
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        yield fail(_WHAT, f"{path}: there is no folder {folder}", "create it, or choose another --db")
        return
    yield _disk_kind(folder)
    trouble = _write_error(folder)
    if trouble:
        yield fail(
            _WHAT,
            f"{folder} cannot be written to: {trouble}",
            "change its permissions, or choose another --db",
        )
    elif not os.path.lexists(path):
        yield ok(_WHAT, f"{path} does not exist yet; the first run creates it")
    if os.path.lexists(path):
        yield from _existing(path)


def _existing(path: str) -> Iterator[Finding]:
    holder = owner(path)
    if holder is not None:
        yield note("run lock", f"held by {holder}", "a second run ends at once with exit code 4")
    else:
        yield ok("run lock", "no process holds the database")
    if not os.access(path, os.W_OK):
        yield fail(
            _WHAT, f"{path} is read-only for this user", "change its permissions, or choose another --db"
        )
    try:
        with open_for_reading(path) as db:
            yield ok("schema", f"version {db.conn.execute('PRAGMA user_version').fetchone()[0]}")
            yield _integrity(db.conn, path)
    except StorageError as error:
        if isinstance(error, NotADatabaseError) and os.path.getsize(path) == 0:
            yield ok(_WHAT, f"{path} is empty; the first run fills it")
            return
        if isinstance(error, DatabaseVersionError) and "older" in str(error):
            older = f"older than this program's ({schema.VERSION})"
            yield note("schema", older, "the next run brings it up to date")
            return
        yield fail_of(_WHAT, error, "choose another --db")


def _integrity(conn: sqlite3.Connection, path: str) -> Finding:
    start = time.monotonic()
    faults = [str(row[0]) for row in conn.execute("PRAGMA quick_check(3)")]
    if faults != ["ok"]:
        found = f"{path} is damaged: {'; '.join(faults)}"
        return fail(_WHAT, found, "restore a copy, or save what is left with sqlite3's .recover")
    (num_attempts,) = conn.execute("SELECT count(*) FROM attempts").fetchone()
    seconds = time.monotonic() - start
    return ok(
        _WHAT, f"{path}: {size(os.path.getsize(path))}, {num_attempts} readings, whole ({seconds:.1f} s)"
    )


def _disk_kind(folder: str) -> Finding:
    """Checks that the disk is local: SQLite's write-ahead log uses shared memory and does not work between hosts."""
    mount = mount_of(folder)
    if mount is None:
        return note("database's disk", "the system does not report its kind")
    point, kind = mount
    if kind in REMOTE:
        found = f"{folder} is on {kind} ({point}), where SQLite's write-ahead log does not work safely"
        return fail("database's disk", found, "put the database on a local disk and copy it afterwards")
    return ok("database's disk", f"{kind} ({point}), local")


def _write_error(folder: str) -> str | None:
    """Returns why no file can be written in a folder, None if it can; tries an unnamed file where possible."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0" * 65536)
            file.flush()
            with suppress(OSError):
                os.fsync(file.fileno())
    except OSError as error:
        return error.strerror or str(error)
    return None


def mount_of(path: str, table: str | None = None) -> tuple[str, str] | None:
    """Returns the path's mount point and the name of its file system; None where the system has no table of mounts.

    table: in the form of /proc/self/mountinfo, which it is by default. Source: proc(5).
    """
    if table is None:
        try:
            table = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return None
    path, best = os.path.realpath(path), None
    for line in table.splitlines():
        head, dash, tail = line.partition(" - ")
        fields = head.split(" ")
        if not dash or len(fields) < 5:
            continue
        point = _OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[4])
        # Of several mounts on the same point, the last one hides the others.
        if (path + "/").startswith(point.rstrip("/") + "/") and (best is None or len(point) >= len(best[0])):
            best = (point, tail.split(" ")[0])
    return best


def check_inputs(config: Config) -> Iterator[Finding]:
    """Checks that the files which the configuration names exist and can be read or written."""
    if not config.ingest.paths and config.ingest.manifest is None:
        yield note("inputs", "none in the configuration: name them on the command line, or set ingest.paths")
    for path in config.ingest.paths:
        yield _stored(path, config.ingest.object_timeout_s) if is_url(path) else _input(path)
    if (manifest := config.ingest.manifest) is not None:
        yield _stored(manifest, config.ingest.object_timeout_s) if is_url(manifest) else _input(manifest)
    if config.ingest.password_env is not None or config.ingest.password_file is not None:
        yield _passwords(config)
    for key, file in (("run.log_file", config.run.log_file), ("run.summary_file", config.run.summary_file)):
        if file is not None:
            yield _written(key, file)


def _stored(url: str, limit_s: float) -> Finding:
    try:
        kind = "folder" if is_folder(url, limit_s) else "object"
    except Exception as error:  # what a store's own library raises
        return fail(
            "input", f"{url}: {reason_of(error)}", "check the URL, and the credentials in the environment"
        )
    return ok("input", f"{url} is there, a{'n' * (kind == 'object')} {kind}")


def _input(path: str) -> Finding:
    if (reason := unreadable(path)) is not None:
        return fail("input", f"{path}: {reason}", "check the path and its permissions")
    if os.path.isdir(path):
        with os.scandir(path) as entries:  # of which there may be millions
            if next(entries, None) is None:
                return note("input", f"{path} is an empty folder")
    return ok("input", f"{path} can be read")


def _passwords(config: Config) -> Finding:
    """Checks that passwords can be read; only their number is shown."""
    try:
        number = len(read_passwords(config.ingest))
    except ConfigError as error:
        return fail_of("passwords", error, "check it")
    return ok("passwords", f"{number} to try on encrypted PDFs")


def _written(key: str, path: str) -> Finding:
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        return fail(key, f"{path} is a folder", "name a file")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        return fail(
            key, f"{path} cannot be written to", f"make the folder {folder}, or change its permissions"
        )
    return ok(key, f"{path} can be written to")
