"""Which weights a page is read with. Torch-free, so that a run with nothing to read never loads torch."""

from ocr.errors import CheckpointError
from ocr.model_files import digest, find_directory, weight_files


def weights_sha256(name_or_path: str) -> str:
    """Returns the sha256 over a model's weights, config.json and tokenizer.json: their content alone.

    The same as LoadedModel.weights_sha256. Raises: CheckpointError naming what is missing.
    """
    directory = find_directory(name_or_path)
    files = [*weight_files(directory), directory / "config.json", directory / "tokenizer.json"]
    try:
        return digest(files)
    except OSError as error:
        raise CheckpointError(
            f"{error.filename}: cannot be read ({error.strerror}); fetch the model's files again"
        ) from error
