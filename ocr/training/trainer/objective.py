"""The training objective: text, guided attention and character maps, on the same classes that run in production."""

import random
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from ocr.model.deepseek_ocr import OcrModel
from ocr.training.trainer.batch_inputs import Rows, Views

Tensor = torch.Tensor
GUIDED_LAYERS = (2, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Weights of the terms, and the share of input tokens replaced by random ones."""

    guided: float = 0.3
    patch_map: float = 0.5
    token_map: float = 0.5
    corrupt: float = 0.06


class CharacterHead(nn.Module):
    """Predicts the characters in the four cells of a patch from SAM's features; for training only."""

    def __init__(self, width: int, num_classes: int, hidden: int = 96) -> None:
        super().__init__()
        self.hidden = hidden
        self.expand = nn.Linear(width, 4 * hidden)
        self.classify = nn.Linear(hidden, num_classes)

    def forward(self, patches: Tensor) -> Tensor:
        """Returns logits [K, 4, classes] for [K, C], cells left to right."""
        logits: Tensor = self.classify(F.gelu(self.expand(patches)).view(-1, 4, self.hidden))
        return logits


class TokenMap(nn.Module):
    """Predicts the 64 characters in a vision token's 16 x 4 cells from the projector's output; for training only."""

    def __init__(self, width: int, num_classes: int, hidden: int = 32) -> None:
        super().__init__()
        self.hidden = hidden
        self.expand = nn.Linear(width, 64 * hidden)
        self.classify = nn.Linear(hidden, num_classes)

    def forward(self, tokens: Tensor) -> Tensor:
        """Returns logits [K, 4, 4, 4, classes] for [K, D]: patch row, patch column, cell."""
        cells = F.gelu(self.expand(tokens)).view(-1, 4, 4, 4, self.hidden)
        logits: Tensor = self.classify(cells)
        return logits


class Objective(nn.Module):
    """All modules trained together. `model` ships; the maps are discarded."""

    def __init__(self, model: OcrModel, num_classes: int, weights: Weights) -> None:
        super().__init__()
        self.model, self.weights = model, weights
        self.corrupting = True
        self.settling = False  # a new token map learns from the model without teaching it
        self.character_head = CharacterHead(model.config.encoder.sam.width, num_classes)
        self.token_map = TokenMap(model.lm_head.in_features, num_classes)

    def forward(self, views: Views, rows: Rows) -> tuple[Tensor, dict[str, Tensor]]:
        encoder = self.model.encoder
        tables, sharp = [], None
        for pixels in (views.tiles, views.globals_):
            if pixels is not None:
                patches = encoder.patches(pixels)
                tokens = encoder.tokens_from_patches(patches)
                tables.append(tokens.flatten(0, 1))
                sharp = sharp if sharp is not None else (tokens, patches)
        table = torch.cat([*tables, encoder.image_newline[None], encoder.view_seperator[None]])
        assert sharp is not None, "a batch has tiles or global views"
        patch_loss, patch_acc = self._patch_map(sharp[1], views.cells)
        token_loss = self._token_map(sharp[0].detach() if self.settling else sharp[0], views.cells)
        text_loss, guided, text_acc = self._text(table, rows)
        w = self.weights
        loss = text_loss + w.guided * guided + w.patch_map * patch_loss + w.token_map * token_loss
        report = {
            "text": text_loss,
            "acc": text_acc,
            "guided": guided,
            "patch": patch_loss,
            "patch_acc": patch_acc,
            "token": token_loss,
        }
        return loss, {name: value.detach() for name, value in report.items()}

    def _text(self, table: Tensor, rows: Rows) -> tuple[Tensor, Tensor, Tensor]:
        lm = self.model.language_model
        token = rows.token
        if self.corrupting:
            random_ids = torch.randint_like(token, lm.config.vocab_size)
            hit = (torch.rand(token.shape, device=token.device) < self.weights.corrupt) & (rows.label >= 0)
            token = torch.where(hit, random_ids, token)
        seen = (rows.feature >= 0)[..., None]
        hidden = torch.where(
            seen, F.embedding(rows.feature.clamp(min=0), table), lm.embed_tokens(token).to(table.dtype)
        )
        positions = torch.arange(hidden.shape[1], device=hidden.device)[None]
        rotary = lm.rotary_emb(hidden, position_ids=positions)
        guided = hidden.new_zeros(())
        for number, layer in enumerate(lm.layers):
            if number in GUIDED_LAYERS and self.weights.guided:
                guided = guided + guided_loss(layer, hidden, rotary, rows) / len(GUIDED_LAYERS)
            hidden = layer(hidden, attention_mask=None, position_ids=positions, position_embeddings=rotary)
        wanted = rows.label >= 0
        chosen, label = lm.norm(hidden)[wanted], rows.label[wanted]
        logits = self.model.lm_head(chosen).float()
        return F.cross_entropy(logits, label), guided, (logits.argmax(-1) == label).float().mean()

    def _patch_map(self, patches: Tensor, cells: Tensor) -> tuple[Tensor, Tensor]:
        flat, marks = patches.flatten(0, 2), cells.flatten(0, 2)
        chosen = _mostly_text(marks, 0.2)
        logits = self.character_head(flat[chosen]).float()
        return _map_loss(logits, marks[chosen])

    def _token_map(self, tokens: Tensor, cells: Tensor) -> Tensor:
        side = int(tokens.shape[1] ** 0.5)
        marks = cells.view(-1, side, 4, side, 4, 4).transpose(2, 3).reshape(-1, 4, 4, 4)
        chosen = _mostly_text(marks, 0.3)
        return _map_loss(self.token_map(tokens.flatten(0, 1)[chosen]).float(), marks[chosen])[0]


def _mostly_text(marks: Tensor, share: float) -> Tensor:
    """Returns indices of `share` of the rows, those with characters first.

    A fixed count, so nothing waits for the device.
    """
    score = (marks.flatten(1) > 0).any(1).float() * 0.8 + torch.rand(marks.shape[0], device=marks.device)
    return score.topk(int(marks.shape[0] * share)).indices


def _map_loss(logits: Tensor, marks: Tensor) -> tuple[Tensor, Tensor]:
    logits, marks = logits.flatten(0, -2), marks.flatten()
    weight = torch.where(marks > 0, 1.0, 0.15)
    loss = (F.cross_entropy(logits, marks, reduction="none") * weight).sum() / weight.sum()
    text = (marks > 0).float()
    return loss, ((logits.argmax(-1) == marks).float() * text).sum() / text.sum().clamp(min=1)


def guided_loss(layer: Any, hidden: Tensor, rotary: tuple[Tensor, Tensor], rows: Rows) -> Tensor:
    """Returns the cross-entropy of head 0's attention at each text position against the next character's token."""
    attention = layer.self_attn
    width = attention.head_dim
    state = layer.input_layernorm(hidden)
    first = int(rows.first)
    q = F.linear(state[:, first:], attention.q_proj.weight[:width])
    k = F.linear(state, attention.k_proj.weight[:width])
    cos, sin = (r.to(q.dtype) for r in rotary)
    q = q * cos[:, first:] + _rotate(q) * sin[:, first:]
    k = k * cos + _rotate(k) * sin
    scores = (q @ k.mT).float() * attention.scaling
    at = torch.arange(hidden.shape[1], device=hidden.device)
    scores = scores.masked_fill(at[None, None] > at[first:][None, :, None], float("-inf"))
    focus = rows.focus[:, first:].flatten()
    total = F.cross_entropy(scores.flatten(0, 1), focus, ignore_index=-1, reduction="sum")
    return total / (focus >= 0).sum().clamp(min=1)  # a batch of pages without text has no such position


def _rotate(x: Tensor) -> Tensor:
    a, b = x.chunk(2, -1)
    return torch.cat([-b, a], -1)


def initialise(model: OcrModel, seed: int = 0) -> None:
    """Sets small random weights everywhere: the production classes are built for loading, not for training."""
    torch.manual_seed(seed)
    random.seed(seed)
    for name, p in model.named_parameters():
        with torch.no_grad():
            if "norm" in name or name.endswith(("neck.1.weight", "neck.3.weight")):
                p.fill_(1.0 if name.endswith("weight") else 0.0)
            elif name.endswith("bias"):
                p.zero_()
            elif p.ndim >= 2 and "embed" not in name and "rel_pos" not in name:
                p.normal_(0, p[0].numel() ** -0.5)
            else:
                p.normal_(0, 0.02)
