"""Identifies the model files that a page is read with. Torch-free, so that a run with nothing to read loads none."""

from collections.abc import Sequence

from ocr.errors import CheckpointError
from ocr.model_files.digests import file_sha256
from ocr.model_files.locate import SHIPPED, STRUCTURE, digest, find_directory
from ocr.orientation.net import WEIGHTS as ORIENTATION_WEIGHTS


def weights_sha256(name_or_path: str, others: Sequence[str] = ()) -> str:
    """Returns the sha256 over a model's files, wherever they are (ocr.model_files.locate.digest).

    others: patterns of further files. Raises: CheckpointError, naming the missing file.
    """
    directory = find_directory(name_or_path)
    try:
        return digest(directory, others)
    except OSError as error:
        raise CheckpointError(
            f"{error.filename}: cannot be read ({error.strerror}); fetch the model's files again"
        ) from error


def orientation_sha256() -> str:
    """Returns the sha256 of the orientation network's weights, which come with the package."""
    return file_sha256(ORIENTATION_WEIGHTS).hex()


def structure_sha256() -> str:
    """Returns the sha256 of the weights of the network that orders lines, which come with the package."""
    return file_sha256(find_directory(SHIPPED).parent / STRUCTURE).hex()
