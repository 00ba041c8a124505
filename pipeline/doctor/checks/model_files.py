"""Checks the model's files: present, complete, readable, and as published. Neither loads it nor imports torch."""

import base64
import os
import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from importlib import metadata
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
from pipeline.config.schema import Config, IngestConfig, tile_settings
from pipeline.device.startup.loading import with_word_use
from pipeline.doctor.finding import Finding, fail, note, ok, size

SUMS = "SHA256SUMS"  # as sha256sum writes and checks it
_SHA256 = re.compile(r"[0-9a-f]{64}")


def check(config: Config) -> Iterator[Finding]:
    """Checks files, weights, hashes and tokenizer, and whether anything would be downloaded. Never downloads."""
    try:
        directory = local_directory(config.model)
        if directory is None:
            yield _missing(config.model)
            return
        yield ok("model", f"{config.model} in {directory}")
        yield _network(config.model)
        yield from _family(config, directory)
        yield from _words(config)
        files = weight_files(directory)
        lines = [directory / name for name in LINE_FILES if (directory / LINES).exists()]
        yield from _weights([*files, *(file for file in lines if file.suffix == ".safetensors")])
        yield _hashes(config.model, [*files, directory / "config.json", directory / "tokenizer.json", *lines])
        tokenizer = read_tokenizer(directory / "tokenizer.json")
        text = "Invoice 1,234.50 €"
        back = tokenizer.decode(tokenizer.encode(text, add_special_tokens=False).ids)
        num_tokens = tokenizer.get_vocab_size(with_added_tokens=True)
        if back.strip() == text:
            yield ok("tokenizer", f"{num_tokens} tokens")
        else:
            yield note("tokenizer", f"{num_tokens} tokens; {text!r} comes back as {back!r}")
    except CheckpointError as error:
        found, _, remedy = str(error).rpartition("; ")
        yield fail("model", found or str(error), remedy if found else "fetch the model's files again")


def _family(config: Config, directory: Path) -> Iterator[Finding]:
    """Says which family loads the model, what it is taken for, and what its licence forbids."""
    family, facts = described(config.model, config.model_entry, directory)
    yield ok("family", family.name)
    if (entry := family.entry(facts)) is not None:
        yield ok("model entry", entry)
    if (against := family.restriction(facts)) is not None:
        yield note("licence", against, "read the model's licence before you use it for a business")


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
    """Compares hashes with the files' SHA256SUMS, from pip for the shipped model, or the hub's cache."""
    recorded = {file: expected for file in files if (expected := _recorded(model, file))}
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


def _recorded(model: str, file: Path) -> str | None:
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
    if model != SHIPPED:
        return None
    with suppress(metadata.PackageNotFoundError):
        for entry in metadata.files("ocrbatch") or []:
            if (
                entry.name == file.name
                and entry.hash
                and Path(str(entry.locate())).resolve() == file.resolve()
            ):
                padded = entry.hash.value + "=" * (-len(entry.hash.value) % 4)
                return base64.urlsafe_b64decode(padded).hex() if entry.hash.mode == "sha256" else None
    return None
