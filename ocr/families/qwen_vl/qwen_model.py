"""Loads Qwen-VL models from their published files: transformers' classes hold the weights, our encoder runs over them.

No code of a model's repository is run.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from encoders.qwen_vl.qwen_encoder import QwenEncoder
from encoders.qwen_vl.vision_forward import QwenVision
from ocr.errors import CheckpointError
from ocr.families.qwen_vl.qwen_prompts import QWEN2_5_VL, QWEN3_VL, ChatFormat
from ocr.families.qwen_vl.qwen_resizing import QwenResizing, read_resizing
from ocr.model_files.locate import read_json, read_tokenizer

# model_type of config.json -> transformers' class, and the chat template.
_FAMILY: dict[str, tuple[str, ChatFormat]] = {
    "qwen3_vl": ("Qwen3VLForConditionalGeneration", QWEN3_VL),
    "qwen2_5_vl": ("Qwen2_5_VLForConditionalGeneration", QWEN2_5_VL),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoadedQwen:
    """A model ready to read. model: transformers', in evaluation mode, without gradients.

    pad_id: fills prompts of a batch. end_ids: the tokens that end an answer.
    """

    model: Any
    tokenizer: Tokenizer
    resizing: QwenResizing
    chat: ChatFormat
    pad_id: int
    end_ids: tuple[int, ...]

    def encoder(self, **limits: Any) -> QwenEncoder:
        """Returns its vision encoder over the model's own weights. limits: QwenEncoder's."""
        vision = QwenVision(self.model.model.visual, mean=self.resizing.mean, std=self.resizing.std)
        return QwenEncoder(vision, **limits)


def is_qwen_vl(config: dict[str, Any]) -> bool:
    """Returns whether this is the config.json of a model that load_qwen() can load."""
    return config.get("model_type") in _FAMILY


def load_qwen(directory: Path, *, device: str | torch.device, dtype: torch.dtype) -> LoadedQwen:
    """Returns the model in a directory with the published files: Qwen3-VL, Qwen2.5-VL, olmOCR-2, Nanonets-OCR2.

    Raises: CheckpointError for a model of another kind, missing files, or weights that are missing or do not fit.
    """
    config = read_json(directory / "config.json")
    if not is_qwen_vl(config):
        raise CheckpointError(
            f"{directory}: model_type is {config.get('model_type')!r}, expected one of {', '.join(_FAMILY)}"
        )
    class_name, chat = _FAMILY[config["model_type"]]
    tokenizer = read_tokenizer(directory / "tokenizer.json")
    resizing = read_resizing(directory, config["model_type"])
    model = _load_weights(class_name, directory, dtype).to(device)
    generation = model.generation_config
    ends = generation.eos_token_id
    end_ids = (ends,) if isinstance(ends, int) else tuple(ends or ())
    pad_id = generation.pad_token_id
    if pad_id is None:
        pad_id = end_ids[0] if end_ids else 0
    return LoadedQwen(
        model=model.eval().requires_grad_(False),
        tokenizer=tokenizer,
        resizing=resizing,
        chat=chat,
        pad_id=pad_id,
        end_ids=end_ids,
    )


def _load_weights(class_name: str, directory: Path, dtype: torch.dtype) -> Any:
    """Returns transformers' model. It maps the published key names, old and new, to its own.

    Raises: CheckpointError. transformers itself would draw missing weights at random, with a warning.
    """
    import transformers

    if not any(directory.glob("*.safetensors")):
        raise CheckpointError(f"{directory} holds no .safetensors file; fetch the model's weights again")
    transformers.utils.logging.disable_progress_bar()  # it would stand in the middle of the run's own
    try:
        model, found = getattr(transformers, class_name).from_pretrained(
            directory,
            dtype=dtype,
            local_files_only=True,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    except (OSError, RuntimeError, ValueError) as error:
        raise CheckpointError(f"{directory}: {error}; fetch all files of the model again") from error
    if found["missing_keys"]:
        missing = sorted(found["missing_keys"])
        raise CheckpointError(
            f"{directory} lacks {len(missing)} tensors of the model, such as {missing[0]}; fetch its weights again"
        )
    return model
