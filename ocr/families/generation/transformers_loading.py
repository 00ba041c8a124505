"""Loads transformers' own classes from published files, without any code of the models' own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from transformers import AutoModelForImageTextToText
from transformers.utils.logging import disable_progress_bar, set_verbosity_error

from ocr.errors import CheckpointError
from ocr.families.catalogue.published_models import PublishedModel
from ocr.families.family import Loading


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


def load_class(asked: Loading, config: Any) -> Any:
    """Returns the model of images and text in a directory, in evaluation mode and without gradients.

    config: transformers'; its type decides the class. All of the model has asked.dtype. Raises: CheckpointError for
    tensors that are missing or of another shape; whatever transformers raises (see `refusals`).
    """
    disable_progress_bar()
    set_verbosity_error()  # it warns of what is of no concern to a user
    model, report = AutoModelForImageTextToText.from_pretrained(
        asked.directory,
        config=config,
        dtype=getattr(torch, asked.dtype),
        use_safetensors=True,
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # else the error names no tensor; all are refused below
        local_files_only=True,
        trust_remote_code=False,
    )
    # Where tensors are missing transformers only says so, and goes on with random ones.
    if absent := sorted([*report["missing_keys"], *(name for name, *_ in report["mismatched_keys"])]):
        raise CheckpointError(
            f"{asked.directory}: {len(absent)} tensors of {config.model_type} are missing or of another shape, such as "
            f"{', '.join(absent[:3])}; fetch the weights again"
        )
    return model.eval().requires_grad_(False).to(asked.device)


def reader_fields(
    asked: Loading,
    known: PublishedModel,
    model: Any,
    tokenizer: Tokenizer,
    *,
    pad_id: int | None,
    end_id: int = 0,
) -> dict[str, Any]:
    """Returns what readers of models with an entry have in common, by their fields' names.

    The tokens that end a text are the generation's configuration's and those of the entry; else the language model's,
    else end_id. pad_id: None for one of these.
    """
    prompt = known.prompts["page"] if asked.prompt is None else asked.prompt
    stops = (tokenizer.token_to_id(text) for text in known.stop)
    ids = {*_listed(model.generation_config.eos_token_id), *(token for token in stops if token is not None)}
    ids = ids or set(_listed(getattr(model.config.get_text_config(), "eos_token_id", None))) or {end_id}
    return {
        "name": asked.name,
        "model": model,
        "tokenizer": tokenizer,
        "prompt": prompt,
        "output_format": known.format_for(prompt),
        "eos_ids": frozenset(ids),
        "pad_id": min(ids) if pad_id is None else pad_id,
        "pages_prompt": known.prompts.get("pages") if asked.prompt is None else None,
    }


def _listed(ids: int | list[int] | None) -> list[int]:
    return [ids] if isinstance(ids, int) else list(ids or [])
