"""Locates a model's files: shipped with the package, in a directory, or in a repository of the hub."""

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ocr.errors import CheckpointError, NoPageModelError
from ocr.model_files.digests import file_sha256

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SHIPPED = "small"
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
STRUCTURE = "structure/structure.safetensors"  # beside the shipped readers, whatever model reads
LINES, CONFIDENCE = "lines", "confidence.json"  # a line reader's folder, and its calibration
LINE_FILES = tuple(
    f"{LINES}/{name}" for name in ("finder.safetensors", "reader.safetensors", "reader.json", CONFIDENCE)
)
_PATTERNS = ["*.safetensors", "*.json", "*.jinja", "*.txt", "*.model"]  # in any folder
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


def find_directory(name_or_path: str) -> Path:
    """Returns the directory with the model's files, downloading them if need be.

    "small" is always what ships, a line reader (./small is a directory of that name). HF_HUB_OFFLINE=1 allows only
    files in the hub's cache. Raises: CheckpointError with the remedy.
    """
    if name_or_path == SHIPPED:
        return _shipped()
    path = Path(name_or_path).expanduser()
    if path.is_dir():
        return path
    if path.exists():
        raise CheckpointError(
            f"model {name_or_path!r} is a file; name the directory that holds its config.json"
        )
    if _HUB_ID.fullmatch(name_or_path):
        return _download(name_or_path)
    raise CheckpointError(
        f"model {name_or_path!r} is not a directory; use {SHIPPED!r}, an existing directory, or a hub id such "
        "as deepseek-ai/DeepSeek-OCR"
    )


def is_here(name_or_path: str) -> bool:
    """Returns False for a model of the hub that find_directory would have to download first."""
    if Path(name_or_path).expanduser().exists() or not _HUB_ID.fullmatch(name_or_path):
        return True
    from huggingface_hub import snapshot_download

    try:
        snapshot_download(name_or_path, allow_patterns=_PATTERNS, local_files_only=True)
    except (OSError, ValueError):  # the library's own errors are one or the other
        return False
    return True


def _shipped() -> Path:
    directory = Path(str(files("ocr").joinpath("weights", SHIPPED)))
    if not has_lines(directory):
        raise CheckpointError(
            f"the shipped line reader is not in {directory}; install ocrbatch again, or name another model"
        )
    return directory


@lru_cache
def _download(repository: str) -> Path:
    # Imported here, as most runs have their model on the disk and do not need the hub.
    from huggingface_hub import constants, snapshot_download
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        HFValidationError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
    )

    try:
        return Path(snapshot_download(repository, allow_patterns=_PATTERNS))
    except (EntryNotFoundError, OfflineModeIsEnabled) as error:
        remedy = (
            "unset HF_HUB_OFFLINE to download it"
            if constants.HF_HUB_OFFLINE
            else "check the network connection, or copy the model's files here and name their directory"
        )
        raise CheckpointError(f"model {repository!r} is not in the hub's cache; {remedy}") from error
    except GatedRepoError as error:
        raise CheckpointError(
            f"model {repository!r} is gated; accept its terms on the hub and log in with `hf auth login`"
        ) from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise CheckpointError(
            f"the hub has no model {repository!r} and there is no such directory; check the spelling, or log "
            "in with `hf auth login` if it is private"
        ) from error
    except OSError as error:
        raise CheckpointError(
            f"model {repository!r} could not be downloaded ({error}); check network and disk space, then "
            "try again"
        ) from error


def has_lines(directory: Path) -> bool:
    """Returns whether a directory holds a line reader, as the one that ships does, and not a page model."""
    return (directory / LINES).is_dir()


def lacking(directory: Path, names: str) -> CheckpointError:
    """Returns the error of a page model without files of these names: a line reader's folder is none."""
    if not has_lines(directory):
        return CheckpointError(f"{directory} lacks {names}; fetch the model's missing files into it")
    return NoPageModelError(
        f"{directory.name!r} reads lines and their order. No page model ships with ocrbatch since 0.1.0; name one with "
        "--model (a directory, or a hub id such as deepseek-ai/DeepSeek-OCR), or leave reader: page out"
    )


def weight_files(directory: Path) -> list[Path]:
    """Returns the model's safetensors files: those that its index names, or model.safetensors, or the only one.

    Raises: CheckpointError where one is missing, or where there are several without an index.
    """
    index = directory / INDEX
    if index.exists():
        files = sorted({directory / name for name in read_json(index).get("weight_map", {}).values()})
    elif (directory / WEIGHTS).exists():
        files = [directory / WEIGHTS]
    else:
        files = sorted(directory.glob("*.safetensors"))
        if len(files) > 1:
            raise CheckpointError(
                f"{directory} holds {len(files)} safetensors files but no {INDEX}; add the index"
            )
    missing = [file.name for file in files if not file.exists()] or ([] if files else [WEIGHTS])
    if missing:
        raise lacking(directory, ", ".join(missing))
    return files


def read_json(path: Path) -> dict[str, Any]:
    """Returns the object in a JSON file. Raises: CheckpointError where it is missing or holds no JSON object."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise lacking(path.parent, path.name) from error
    except (ValueError, OSError) as error:
        raise CheckpointError(f"{path} cannot be read ({error}); fetch the file again") from error
    if not isinstance(data, dict):
        raise CheckpointError(f"{path} holds no JSON object; fetch the file again")
    return data


def read_tokenizer(path: Path) -> "Tokenizer":
    """Returns the tokenizer in a file. Raises: CheckpointError where it is missing or holds no tokenizer."""
    from tokenizers import Tokenizer  # processes that only look into JSON files have no use for it

    if not path.exists():
        raise lacking(path.parent, path.name)
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception
        raise CheckpointError(f"{path} cannot be read ({error}); fetch the file again") from error


def digest(directory: Path, others: Sequence[str] = ()) -> str:
    """Returns the sha256 over all files of the directory that a reading depends on: all that a run opens.

    It covers the content of the files that a page model must have, whatever their names, and names and content of its
    index and of a line reader's files. others: patterns of further files. Raises: CheckpointError where one is
    missing; OSError.
    """
    total = hashlib.sha256()
    if is_model := not has_lines(directory):
        for path in (*weight_files(directory), directory / "config.json", directory / "tokenizer.json"):
            total.update(file_sha256(path))
    for name in (INDEX,) if is_model else LINE_FILES:
        if (directory / name).exists():
            total.update(name.encode() + file_sha256(directory / name))
    for path in sorted({path for pattern in others for path in directory.glob(pattern)}):
        total.update(path.name.encode() + file_sha256(path))
    return total.hexdigest()


def read_ahead(files: Sequence[Path]) -> None:
    """Has the system read the files into its cache, without waiting, where it can do so."""
    if not hasattr(os, "posix_fadvise"):
        return
    for path in files:
        with contextlib.suppress(OSError), path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)
