import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

from ocr.line_networks.structure_net import StructureNet, StructureSizes
from ocr.line_reader.line_features import MOST_RULES, NUM_LETTERS, line_tokens
from ocr.line_reader.structure_network import SIZES, WEIGHTS, StructureNetwork


def test_numpy_says_what_torch_says(tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = StructureNet(StructureSizes(num_roles=5, width=32, layers=2)).eval()
    save_file(net.state_dict(), tmp_path / WEIGHTS)
    (tmp_path / SIZES).write_text(json.dumps(asdict(net.sizes)))
    rng = np.random.default_rng(1)
    x0, base = rng.uniform(0, 500, (2, 12))
    places = np.stack([x0, x0 + rng.uniform(5, 90, 12), base, rng.uniform(7, 14, 12)], 1).astype(np.float32)
    rules = [(10.0, 90.0, 400.0, 90.0), (50.0, 20.0, 50.0, 700.0), (20.0, 300.0, 580.0, 302.0)]
    tokens = line_tokens(places, [f"• Line {n}, äß" * n for n in range(12)], 600.0, 800.0, rules)
    arrays = (tokens.numbers, tokens.letters, tokens.places)
    with torch.no_grad():
        wanted = net(*(torch.from_numpy(a)[None] for a in arrays), torch.ones(1, 15, dtype=torch.bool))
    roles, pairs = StructureNetwork(tmp_path).logits(tokens)
    np.testing.assert_allclose(roles, wanted[0][0, :12].numpy(), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(pairs, wanted[1][0, :, :12, :12].numpy(), rtol=1e-3, atol=1e-4)


def test_the_longest_rules_are_seen_behind_the_lines() -> None:
    """They are told from lines, and across from down, by what stands in place of letters."""
    places = np.array([[50.0, 150.0, 100.0, 10.0], [50.0, 150.0, 120.0, 10.0]], np.float32)
    rules = [(10.0, y, 20.0 + y, y) for y in range(10, 10 + 2 * MOST_RULES, 2)] + [(30.0, 0.0, 30.0, 800.0)]
    tokens = line_tokens(places, ["one", "two"], 600.0, 800.0, rules)
    assert tokens.num_lines == 2
    assert len(tokens.numbers) == len(tokens.letters) == len(tokens.places) == 2 + MOST_RULES
    longest, next_longest = tokens.letters[2:4, 0]
    assert longest == NUM_LETTERS - 1
    assert next_longest == NUM_LETTERS - 2
    np.testing.assert_allclose(tokens.places[2, :4], [3.0, 3.0, 80.0, 80.0])
    assert tokens.letters[:2].max() < NUM_LETTERS - 2
