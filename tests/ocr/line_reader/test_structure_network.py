import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

from ocr.line_networks.structure_net import StructureNet, StructureSizes
from ocr.line_reader.line_features import line_tokens
from ocr.line_reader.structure_network import SIZES, WEIGHTS, StructureNetwork


def test_numpy_says_what_torch_says(tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = StructureNet(StructureSizes(num_roles=5, width=32, layers=2)).eval()
    save_file(net.state_dict(), tmp_path / WEIGHTS)
    (tmp_path / SIZES).write_text(json.dumps(asdict(net.sizes)))
    rng = np.random.default_rng(1)
    x0, base = rng.uniform(0, 500, (2, 12))
    places = np.stack([x0, x0 + rng.uniform(5, 90, 12), base, rng.uniform(7, 14, 12)], 1).astype(np.float32)
    tokens = line_tokens(places, [f"• Line {n}, äß" * n for n in range(12)], 600.0, 800.0)
    arrays = (tokens.numbers, tokens.letters, tokens.places)
    with torch.no_grad():
        wanted = net(*(torch.from_numpy(a)[None] for a in arrays), torch.ones(1, 12, dtype=torch.bool))
    for found, each in zip(StructureNetwork(tmp_path).logits(tokens), wanted, strict=True):
        np.testing.assert_allclose(found, each[0].numpy(), rtol=1e-3, atol=1e-4)
