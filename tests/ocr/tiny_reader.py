"""Small models for decoding's tests: one with random weights, one whose next token is a given function."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from tokenizers import Tokenizer
from tokenizers.decoders import WordPiece as WordPieceDecoder
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from torch import nn
from transformers import UnlimitedOcrTextModel

from encoders.types import VisionTokens
from ocr.model.deepseek_ocr import LanguageConfig
from ocr.model.random_weights import redraw

VOCAB = 64
BOS, EOS, READ = 0, 1, 4


def tokenizer() -> Tokenizer:
    """Words w5..w63 besides the few that tests name."""
    words = ["<bos>", "<eos>", "<td>", "</td>", "Read", *(f"w{index}" for index in range(5, VOCAB))]
    result = Tokenizer(WordLevel({word: index for index, word in enumerate(words)}, unk_token="w63"))
    result.pre_tokenizer = Whitespace()
    result.decoder = WordPieceDecoder(prefix="##", cleanup=False)
    return result


@dataclass(frozen=True)
class Reader:
    """The part of a loaded model that decoding needs."""

    model: Any
    tokenizer: Tokenizer
    bos_id: int = BOS
    eos_id: int = EOS


class RandomReader(nn.Module):
    """The real text class: a dense and two sparse layers, grouped heads, logits of order 1."""

    def __init__(self, seed: int = 0, positions: int = 512) -> None:
        super().__init__()
        config = LanguageConfig(
            vocab_size=VOCAB,
            hidden_size=64,
            intermediate_size=96,
            num_hidden_layers=3,
            num_attention_heads=4,
            num_key_value_heads=2,
            n_routed_experts=6,
            n_shared_experts=1,
            num_experts_per_tok=2,
            moe_intermediate_size=32,
            max_position_embeddings=positions,
        )
        self.language_model = UnlimitedOcrTextModel(config.to_transformers())
        self.lm_head = nn.Linear(64, VOCAB, bias=False)
        redraw(self, seed)
        self.eval()

    @torch.inference_mode()
    def logits(self, embeds_LD: torch.Tensor) -> torch.Tensor:
        """[V] after the whole sequence, without any cache."""
        hidden = self.language_model(inputs_embeds=embeds_LD[None], use_cache=False).last_hidden_state
        logits: torch.Tensor = self.lm_head(hidden[0, -1])
        return logits


class ChainReader(nn.Module):
    """Token t is followed by successor[t] (itself where not given); after the prompt, by successor[READ]."""

    def __init__(self, successor: Mapping[int, int], positions: int = 8192) -> None:
        super().__init__()
        self.language_model = _Identity(positions)
        self.lm_head = nn.Linear(VOCAB, VOCAB, bias=False)
        matrix = torch.zeros(VOCAB, VOCAB)
        for token in range(VOCAB):
            matrix[successor.get(token, token), token] = 8.0
        self.lm_head.weight = nn.Parameter(matrix)


class _Identity(nn.Module):
    """A language model that passes its input on."""

    def __init__(self, positions: int) -> None:
        super().__init__()
        self.config = SimpleNamespace(
            max_position_embeddings=positions, num_key_value_heads=1, head_dim=VOCAB
        )
        self.layers = [None]
        self.embed_tokens = nn.Embedding.from_pretrained(torch.eye(VOCAB))

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embed_tokens

    def forward(self, inputs_embeds: torch.Tensor, past_key_values: Any, **_: object) -> SimpleNamespace:
        past_key_values.update(inputs_embeds[:, None], inputs_embeds[:, None], 0)
        return SimpleNamespace(last_hidden_state=inputs_embeds)


def vision(num_tokens: int, seed: int = 0, width: int = 64) -> VisionTokens:
    """A page of random vision tokens."""
    generator = torch.Generator().manual_seed(seed)
    return VisionTokens(tokens_TD=torch.randn(num_tokens, width, generator=generator))
