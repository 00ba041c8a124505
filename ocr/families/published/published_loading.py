"""Loads published document models with transformers' own classes, without any code of the models' own."""

from pathlib import Path
from typing import Any

import torch
from transformers import CONFIG_MAPPING, AutoModelForImageTextToText
from transformers.utils.logging import disable_progress_bar, set_verbosity_error

from ocr.errors import CheckpointError
from ocr.families.family import NumberFormat
from ocr.families.published.processors import load_processor
from ocr.families.published.published_family import known_model
from ocr.families.published.published_reader import PublishedReader
from ocr.model_files.locate import read_json


def load(
    directory: Path,
    *,
    name: str,
    device: str,
    dtype: NumberFormat,
    encoder_dtype: NumberFormat,
    prompt: str | None,
) -> PublishedReader:
    """Returns the model; see ocr.families.family.Family.load. encoder_dtype is dtype for these models.

    Raises: CheckpointError for files that are missing or that these classes cannot load.
    """
    disable_progress_bar()
    set_verbosity_error()  # it warns of what is of no concern to a user
    raw = read_json(directory / "config.json")
    known = known_model(name, raw)
    own: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        # Not AutoConfig: what config.json names may be another class, which would leave parts at random.
        config = CONFIG_MAPPING[known.model_type].from_dict({**raw, "model_type": known.model_type})
        model, report = AutoModelForImageTextToText.from_pretrained(
            directory,
            config=config,
            dtype=getattr(torch, dtype),
            use_safetensors=True,
            output_loading_info=True,
            **own,
        )
        processor = load_processor(directory)
    except CheckpointError:
        raise
    except ImportError as error:
        message = " ".join(str(error).split())[:400]
        raise CheckpointError(
            f"{directory}: {known.model_type} needs a package that is not here: {message}; install it"
        ) from error
    except Exception as error:  # these classes raise anything for files that do not fit
        message = " ".join(f"{type(error).__name__}: {error}".split())[:400]
        raise CheckpointError(
            f"{directory}: transformers cannot load it as {known.model_type} ({message}); fetch all of the model's "
            "files again, and see that transformers is as new as the model needs"
        ) from error
    # Where tensors are missing transformers only says so, and goes on with random ones.
    if absent := sorted(map(str, [*report["missing_keys"], *report["mismatched_keys"]])):
        raise CheckpointError(
            f"{directory}: {len(absent)} tensors of {known.model_type} are missing or of another shape, such as "
            f"{', '.join(absent[:3])}; fetch the weights again"
        )
    model = model.to(device).eval().requires_grad_(False)
    return PublishedReader(
        name=name,
        known=known,
        model=model,
        processor=processor,
        prompt=known.prompts["page"] if prompt is None else prompt,
    )
