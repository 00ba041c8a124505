"""The mixture-of-experts part of a text layer: the router, the experts, and the ways of multiplying by them.

Source: DeepSeekMoE (Dai et al. 2024), with the routing of DeepSeek-V2. Module and parameter names are those of
transformers' `unlimited_ocr`, so that ocr.decoding.gpu.forward.layers, which replaces forward methods by class name,
works with either.
Shapes: T tokens, D width, E experts, K experts that a token passes through, P = T * K pairs of both, F inner width.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from ocr.model.text_config import TextConfig


class UnlimitedOcrTextTopkRouter(nn.Module):
    """Routes tokens: [..., D] -> logits fp32 [T, E], shares fp32 [T, K] of the chosen experts, their numbers [T, K]."""

    def __init__(self, config: TextConfig) -> None:
        super().__init__()
        self.top_k, self.num_experts = config.num_experts_per_tok, config.num_experts
        self.hidden_dim = config.hidden_size
        self.routed_scaling_factor = config.routed_scaling_factor
        self.topk_method, self.num_group = config.topk_method, config.n_group
        self.topk_group = config.topk_group
        self.weight = nn.Parameter(torch.empty(self.num_experts, self.hidden_dim))

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Returns logits, shares and numbers of each token's experts."""
        rows_TD = hidden.reshape(-1, self.hidden_dim).float()
        logits_TE = functional.linear(rows_TD, self.weight.float())
        scores_TE = logits_TE.softmax(-1)
        if self.topk_method == "group_limited_greedy":
            scores_TE = self._within_best_groups(scores_TE)
        shares_TK, chosen_TK = scores_TE.topk(self.top_k, dim=-1, sorted=False)
        return logits_TE, shares_TK * self.routed_scaling_factor, chosen_TK

    def _within_best_groups(self, scores_TE: Tensor) -> Tensor:
        """Returns the scores, zero outside of the groups with the highest single scores."""
        grouped_TGe = scores_TE.view(len(scores_TE), self.num_group, -1)
        best_TG = grouped_TGe.amax(-1).topk(self.topk_group, dim=-1, sorted=False).indices
        kept_TG = torch.zeros_like(grouped_TGe[..., 0]).scatter_(1, best_TG, 1.0).bool()
        masked_TE: Tensor = grouped_TGe.masked_fill(~kept_TG[..., None], 0.0).flatten(1)
        return masked_TE


class UnlimitedOcrTextExperts(nn.Module):
    """The routed experts: [T, D], experts [T, K] and shares [T, K] -> [T, D].

    The configuration picks one of EXPERTS.
    """

    def __init__(self, config: TextConfig) -> None:
        super().__init__()
        self.config = config
        self.num_experts, self.hidden_dim = config.num_experts, config.hidden_size
        self.intermediate_dim = config.moe_intermediate_size
        self.gate_up_proj = nn.Parameter(
            torch.empty(self.num_experts, 2 * self.intermediate_dim, self.hidden_dim)
        )
        self.down_proj = nn.Parameter(torch.empty(self.num_experts, self.hidden_dim, self.intermediate_dim))
        self.act_fn = nn.SiLU()

    def forward(self, hidden_TD: Tensor, chosen_TK: Tensor, shares_TK: Tensor) -> Tensor:
        """Returns the sum of each token's experts, weighted by its shares."""
        return EXPERTS[self.config._experts_implementation](self, hidden_TD, chosen_TK, shares_TK)


Multiply = Callable[[UnlimitedOcrTextExperts, Tensor, Tensor, Tensor], Tensor]


def grouped_mm(
    module: UnlimitedOcrTextExperts, hidden_TD: Tensor, chosen_TK: Tensor, shares_TK: Tensor
) -> Tensor:
    """Multiplies all tokens of an expert at once, with pairs sorted by expert first. The host does not wait."""
    experts_P, order_P = chosen_TK.flatten().sort()
    every_E = torch.arange(module.num_experts, device=experts_P.device)
    ends_E = torch.searchsorted(experts_P, every_E, right=True).int()
    rows_PD = hidden_TD[order_P // chosen_TK.shape[1]]
    gate_PF, up_PF = _grouped_product(rows_PD, module.gate_up_proj, ends_E).chunk(2, dim=-1)
    out_PD = _grouped_product(module.act_fn(gate_PF) * up_PF, module.down_proj, ends_E)
    weighted_PD = out_PD * shares_TK.flatten()[order_P, None]
    in_order_PD = torch.empty_like(weighted_PD)
    in_order_PD[order_P] = weighted_PD
    return _summed(in_order_PD, hidden_TD, chosen_TK)


def batched_mm(
    module: UnlimitedOcrTextExperts, hidden_TD: Tensor, chosen_TK: Tensor, shares_TK: Tensor
) -> Tensor:
    """Multiplies each pair by a copy of its expert's weights: for few tokens, and for graphs not in bfloat16."""
    experts_P = chosen_TK.flatten()
    rows_PD1 = hidden_TD.repeat_interleave(chosen_TK.shape[1], 0)[..., None]
    gate_PF1, up_PF1 = torch.bmm(module.gate_up_proj[experts_P], rows_PD1).chunk(2, dim=1)
    out_PD1 = torch.bmm(module.down_proj[experts_P], module.act_fn(gate_PF1) * up_PF1)
    return _summed(out_PD1[..., 0] * shares_TK.reshape(-1, 1), hidden_TD, chosen_TK)


# The ways of multiplying, by transformers' names.
EXPERTS: dict[str, Multiply] = {"grouped_mm": grouped_mm, "batched_mm": batched_mm}


def _summed(weighted_PD: Tensor, hidden_TD: Tensor, chosen_TK: Tensor) -> Tensor:
    return weighted_PD.view(*chosen_TK.shape, -1).sum(1).to(hidden_TD.dtype)


def _grouped_product(rows_PD: Tensor, weight_EFD: Tensor, ends_E: Tensor) -> Tensor:
    """Returns [P, F]: each expert's rows, which end where ends_E says, times its weight."""
    rows_PD, weight_EDF = rows_PD.to(weight_EFD.dtype), weight_EFD.transpose(-2, -1)
    if _has_kernel(rows_PD, weight_EFD):
        product: Tensor = _KERNEL(rows_PD, weight_EDF, offs=ends_E)  # type: ignore[misc]
        return product
    parts = torch.tensor_split(rows_PD, ends_E[:-1].long().cpu())
    return torch.cat([part @ weight for part, weight in zip(parts, weight_EDF, strict=True)])


_KERNEL = getattr(functional, "grouped_mm", None) or getattr(torch, "_grouped_mm", None)
_TORCH = tuple(int(part) for part in torch.__version__.split(".")[:2])


def _has_kernel(rows: Tensor, weight: Tensor) -> bool:
    """Returns whether PyTorch's grouped product runs here.

    Source: transformers 5.23, which knows the releases so far.
    """
    if _KERNEL is None:
        return False
    if weight.device.type == "cuda":
        major = torch.cuda.get_device_capability(weight.device)[0]
        return major >= 8 if _TORCH >= (2, 9) else major == 9
    if _TORCH < (2, 9):
        return False
    # Before 2.11 it needs aligned addresses, which a mapped file need not have.
    return _TORCH > (2, 10) or (rows.data_ptr() % 16 == 0 and weight.data_ptr() % 16 == 0)
