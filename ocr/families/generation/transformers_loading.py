"""Loads transformers' own classes from published files, without any code of the models' own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForImageTextToText
from transformers.utils.logging import disable_progress_bar, set_verbosity_error

from ocr.errors import CheckpointError


@contextmanager
def refusals(directory: Path, model_type: str) -> Iterator[None]:
    """Has what transformers raises within, for files that do not fit, raised as CheckpointError."""
    try:
        yield
    except CheckpointError:
        raise
    except ImportError as error:
        message = " ".join(str(error).split())[:400]
        raise CheckpointError(
            f"{directory}: {model_type} needs a package that is not here: {message}; install it"
        ) from error
    except Exception as error:  # these classes raise anything
        message = " ".join(f"{type(error).__name__}: {error}".split())[:400]
        raise CheckpointError(
            f"{directory}: transformers cannot load it as {model_type} ({message}); fetch all of the model's "
            "files again, and see that transformers is as new as the model needs"
        ) from error


def load_class(directory: Path, config: Any, dtype: torch.dtype) -> Any:
    """Returns the model of images and text in a directory, in evaluation mode, without gradients, on the CPU.

    config: transformers'; its type decides the class. Raises: CheckpointError for tensors that are missing or of
    another shape; whatever transformers raises (see `refusals`).
    """
    disable_progress_bar()
    set_verbosity_error()  # it warns of what is of no concern to a user
    model, report = AutoModelForImageTextToText.from_pretrained(
        directory,
        config=config,
        dtype=dtype,
        use_safetensors=True,
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # else the error names no tensor; all are refused below
        local_files_only=True,
        trust_remote_code=False,
    )
    # Where tensors are missing transformers only says so, and goes on with random ones.
    if absent := sorted([*report["missing_keys"], *(name for name, *_ in report["mismatched_keys"])]):
        raise CheckpointError(
            f"{directory}: {len(absent)} tensors of {config.model_type} are missing or of another shape, such as "
            f"{', '.join(absent[:3])}; fetch the weights again"
        )
    return model.eval().requires_grad_(False)
