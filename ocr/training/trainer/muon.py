"""Muon for the matrices, AdamW for the rest.

Source: Keller Jordan's Muon (github.com/KellerJordan/Muon). Here matrices of one shape are orthogonalised as
one batch, and fused q, k, v projections as three matrices.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

_FUSED = ("qkv.weight", "qkv_proj.weight")


def orthogonalise(g: torch.Tensor, steps: int = 5) -> torch.Tensor:
    """[N, R, C] -> matrices with singular values near 1, by the quintic Newton-Schulz iteration in bfloat16.

    In float32 on a CPU, most of which have no such products.
    """
    x = g.to(torch.bfloat16) if g.is_cuda else g.float()
    tall = x.shape[-2] > x.shape[-1]
    x = x.mT if tall else x
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        a = x @ x.mT
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    done: torch.Tensor = (x.mT if tall else x).to(g.dtype)
    return done


def is_matrix(name: str, parameter: nn.Parameter) -> bool:
    """Whether Muon takes it: hidden matrices and convolutions, not embeddings, heads, positions or the first layer."""
    apart = ("embed", "head", "position", "image_newline", "view_seperator", "rel_pos")
    return parameter.ndim >= 2 and not any(word in name for word in apart)


class Muon(torch.optim.Optimizer):
    """Momentum, orthogonalised. Parameters are (name, parameter) pairs accepted by `is_matrix`."""

    def __init__(
        self, named: Iterable[tuple[str, nn.Parameter]], lr: float = 0.02, momentum: float = 0.95
    ) -> None:
        named = list(named)
        super().__init__([p for _, p in named], {"lr": lr, "momentum": momentum})
        self.parts = {p: 3 if n.endswith(_FUSED) else 1 for n, p in named}

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            shapes: dict[tuple[int, int], list[tuple[nn.Parameter, torch.Tensor]]] = defaultdict(list)
            for p in group["params"]:
                if p.grad is None:
                    continue
                buffer = self.state[p].setdefault("momentum", torch.zeros_like(p))
                buffer.lerp_(p.grad, 1 - group["momentum"])
                update = p.grad.lerp(buffer, group["momentum"]).flatten(1)
                for part in update.chunk(self.parts[p]):
                    shapes[tuple(part.shape)].append((p, part))
            done: dict[nn.Parameter, list[torch.Tensor]] = defaultdict(list)
            for (rows, columns), pairs in shapes.items():
                batch = orthogonalise(torch.stack([u for _, u in pairs]))
                batch = batch * max(1.0, rows / columns) ** 0.5
                for (p, _), update in zip(pairs, batch, strict=True):
                    done[p].append(update)
            for p, updates in done.items():
                p.add_(torch.cat(updates).view_as(p), alpha=-group["lr"])
