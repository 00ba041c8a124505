"""A checkpoint that loads at once, and pages as real_pages keeps them, for the tests of the decoding figures."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

from ocr.checkpoints import checkpoint
from tests.benchmarks.prompts.real_pages import INDEX
from tests.ocr.tiny import tiny_model, tiny_tokenizer


def tiny_checkpoint(folder: Path) -> Path:
    checkpoint.save(tiny_model(), folder, tokenizer=tiny_tokenizer())
    return folder


def tiny_pages(folder: Path, parts: tuple[int, ...] = (1, 2, 1)) -> Path:
    """Writes pages p0, p1... of random vision tokens with these numbers of crops; every other one has a text layer."""
    folder.mkdir()
    generator = torch.Generator().manual_seed(0)
    names = []
    for page, count in enumerate(parts):
        group = "born-digital" if page % 2 == 0 else "scan"
        name = f"{group}/p{page}"
        tensors = {
            f"{part}.tokens": torch.randn(6 + part, 64, generator=generator).bfloat16()
            for part in range(count)
        }
        readings = [
            {
                "name": name if count == 1 else f"{name}#{part + 1}",
                "kind": "pdf",
                "num_local": 0,
                "grid": [1, 1],
            }
            for part in range(count)
        ]
        about = {"name": name, "group": group, "path": "", "page_index": 0, "readings": readings}
        names.append(f"{page}.safetensors")
        save_file(tensors, folder / names[-1], {"about": json.dumps(about)})
    (folder / INDEX).write_text(json.dumps(names), encoding="utf-8")
    return folder
