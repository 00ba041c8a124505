"""Writes checkpoints of random weights as they are published: config, shards of safetensors, processor, tokenizer.

python -m tests.benchmarks.runs.families.random_checkpoints qwen3-vl-8b FOLDER OUT.json

Processors and tokenizers are the tests' tiny ones; a tokenizer knows bytes and special tokens, and a made-up word for
every other id of the published vocabulary.
"""

import argparse
import json
import re
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import AutoModelForImageTextToText

from ocr.checkpoints.checkpoint import BOS, EOS
from ocr.families.minicpm.minicpm_model import MiniCpmModel
from ocr.model.deepseek_ocr import OcrConfig, OcrModel
from ocr.model.prompt import IMAGE_TAG
from tests.benchmarks.runs.families.whole_sizes import WHOLE_SIZES, WholeSize
from tests.ocr.families.minicpm import tiny_minicpm
from tests.ocr.families.published import tiny_published
from tests.ocr.saving import save
from tests.ocr.tiny import TINY

_STD = 0.02
_SHARD_BYTES = 2 << 30
_WRITERS = 4
_IDS = re.compile(r"_(id|index)$")
_TEXT_IDS = ("pad_token_id", "bos_token_id", "eos_token_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What a checkpoint is written of. model: on the meta device. config: MiniCPM-V's config.json.

    processor: image processor, chat template and class of the processor, of transformers' models alone. Buffers are not
    written: no model has any that its files hold.
    """

    kind: str
    model: Any
    tokenizer: Any
    config: Mapping[str, Any]
    vocab_size: int
    processor: tuple[Any, str | None, str] | None = None

    @property
    def num_parameters(self) -> int:
        return sum(weight.numel() for weight in self.model.parameters())


def planned(size: WholeSize, *, tiny: bool = False) -> Made:
    """Returns a model without weights. tiny: of the tests' sizes, whatever `size` says, which then tells the kind."""
    makers = {"deepseek": _deepseek, "minicpmv": _minicpm}
    return makers.get(size.kind, _published)(size, tiny)


def write(made: Made, folder: Path, *, device: torch.device, dtype: torch.dtype) -> int:
    """Writes the checkpoint with weights drawn on the device; returns the bytes of its files. Frees the weights."""
    folder.mkdir(parents=True)
    made.model.to(dtype).to_empty(device=device)
    if hasattr(made.model, "tie_weights"):
        made.model.tie_weights()
    _draw(made.model)
    if made.processor is not None:
        made.model.save_pretrained(folder, max_shard_size=_SHARD_BYTES)
        pictures, chat, processor_class = made.processor
        made.tokenizer.chat_template = chat
        made.tokenizer.save_pretrained(folder)
        pictures.save_pretrained(folder)
        settings = {"processor_class": processor_class}
        (folder / "processor_config.json").write_text(
            json.dumps(settings | _sequence(made)), encoding="utf-8"
        )
    elif made.kind == "deepseek":
        save(made.model, folder, tokenizer=made.tokenizer)
    else:
        (folder / "config.json").write_text(json.dumps(made.config), encoding="utf-8")
        made.tokenizer.save(str(folder / "tokenizer.json"))
        _write_shards(dict(made.model.named_parameters()), folder)
    _fill(folder / "tokenizer.json", made.vocab_size)
    made.model.to_empty(device="meta")
    return sum(file.stat().st_size for file in folder.iterdir())


@torch.no_grad()
def _draw(model: nn.Module) -> None:
    """Draws all weights of small spread, but for those of norms, which are 1; the same ones each time."""
    torch.manual_seed(0)
    for name, weight in model.named_parameters():
        if weight.ndim == 1 and name.endswith("weight"):
            weight.fill_(1.0)
        else:
            weight.normal_(0.0, _STD)


def _deepseek(size: WholeSize, tiny: bool) -> Made:
    config = TINY if tiny else OcrConfig()
    tokenizer = tiny_published.tokenizer([BOS, EOS, IMAGE_TAG], eos=EOS, pad_token=EOS).backend_tokenizer
    ids = {"bos_token_id": tokenizer.token_to_id(BOS), "eos_token_id": tokenizer.token_to_id(EOS)}
    vocab_size = 300 if tiny else config.language.vocab_size
    config = replace(config, language=replace(config.language, vocab_size=vocab_size, **ids))
    with torch.device("meta"):
        model = OcrModel(config)
    return Made(kind=size.kind, model=model, tokenizer=tokenizer, config={}, vocab_size=vocab_size)


def _minicpm(size: WholeSize, tiny: bool) -> Made:
    config = tiny_minicpm.config_json(size.version)
    if not tiny:
        taken = {key: value for key, value in config.items() if key not in tiny_minicpm._LAYERS}
        config = {**taken, "image_size": 448, "patch_size": 14, **size.top, **size.text}
    with torch.device("meta"):
        model = MiniCpmModel.from_config(config)
    return Made(
        kind=size.kind,
        model=model,
        tokenizer=tiny_minicpm.tokenizer(),
        config=config,
        vocab_size=config["vocab_size"],
    )


def _published(size: WholeSize, tiny: bool) -> Made:
    config, pictures, tokenizer, chat, processor_class = tiny_published.TYPES[size.kind]()
    if not tiny:
        config = _whole_config(config, size)
        pictures = type(pictures)(**dict(size.image))
    with torch.device("meta"):
        model = AutoModelForImageTextToText.from_config(config, dtype=torch.bfloat16)
    return Made(
        kind=f"tiny {size.kind}" if tiny else size.kind,
        model=model,
        tokenizer=tokenizer,
        config={},
        vocab_size=config.get_text_config().vocab_size,
        processor=(pictures, chat, processor_class),
    )


def _whole_config(tiny: Any, size: WholeSize) -> Any:
    """Returns a config of published sizes with the tiny one's token ids, which are its tokenizer's."""
    ids = {key: value for key, value in tiny.to_dict().items() if _IDS.search(key) and isinstance(value, int)}
    text = tiny.get_text_config()
    text_ids = {key: getattr(text, key, None) for key in _TEXT_IDS}
    return type(tiny)(
        vision_config=_with_type(tiny.vision_config, size.vision),
        text_config=_with_type(text, {**text_ids, **size.text}),
        **{**ids, **size.top},
    )


def _with_type(tiny: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    return {"model_type": tiny.model_type, **values}


def _sequence(made: Made) -> dict[str, Any]:
    """Returns settings that a processor is told besides its class; at the published size its defaults hold."""
    kind = made.kind.removeprefix("tiny ")
    return tiny_published.SEQUENCES.get(kind, {}) if kind != made.kind else {}


def _write_shards(tensors: Mapping[str, Tensor], folder: Path) -> None:
    """Writes the tensors in shards, several at once, with their index."""
    shards: list[dict[str, Tensor]] = [{}]
    num_bytes = 0
    for name, tensor in tensors.items():
        if num_bytes + tensor.nbytes > _SHARD_BYTES and shards[-1]:
            shards.append({})
            num_bytes = 0
        shards[-1][name] = tensor.detach()
        num_bytes += tensor.nbytes
    files = [f"model-{number:05d}-of-{len(shards):05d}.safetensors" for number in range(1, len(shards) + 1)]

    def write_one(file: str, shard: Mapping[str, Tensor]) -> None:
        save_file(
            {name: tensor.cpu().contiguous() for name, tensor in shard.items()}, folder / file,
            metadata={"format": "pt"},
        )  # fmt: skip

    with ThreadPoolExecutor(_WRITERS) as pool:
        list(pool.map(write_one, files, shards))
    index = {name: file for file, shard in zip(files, shards, strict=True) for name in shard}
    found = {"metadata": {}, "weight_map": index}
    (folder / "model.safetensors.index.json").write_text(json.dumps(found), encoding="utf-8")


def _fill(path: Path, vocab_size: int) -> None:
    """Gives every id below vocab_size a word, so that whatever a model writes is text of ordinary length."""
    content = json.loads(path.read_text(encoding="utf-8"))
    vocab = content["model"]["vocab"]
    for token in content["added_tokens"]:
        vocab.setdefault(token["content"], token["id"])
    taken = set(vocab.values())
    for number in range(vocab_size):
        if number not in taken:
            # The letters that stand for a line break and for a space in a byte-level vocabulary.
            vocab[("Ċ" if number % 12 == 0 else "Ġ") + f"{number:x}"] = number
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    assert Tokenizer.from_file(str(path)).get_vocab_size() == max(vocab_size, len(taken))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=WHOLE_SIZES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path, help="JSON file that says what was written")
    parser.add_argument("--scale", choices=["tiny", "published"], default="published")
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    asked = parser.parse_args()
    on_gpu = asked.device == "cuda" or (asked.device == "auto" and torch.cuda.is_available())
    size, tiny, started = WHOLE_SIZES[asked.name], asked.scale == "tiny", time.perf_counter()
    made = planned(size, tiny=tiny)
    found = {
        "parameters": made.num_parameters,
        "published_billions": size.billions,
        "source": size.source,
        "unverified": list(size.unverified),
        "bytes": write(
            made,
            asked.folder,
            device=torch.device("cuda" if on_gpu else "cpu"),
            dtype=torch.float32 if tiny else torch.bfloat16,
        ),
        "write_s": round(time.perf_counter() - started, 2),
    }
    asked.out.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
