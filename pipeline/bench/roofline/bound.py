"""Computes the least time that a page can take: its operations at the matrix rate, its bytes at the rate of a copy.

The bound assumes that arithmetic and memory traffic do not overlap, though they could, and one token per step.
"""

from dataclasses import dataclass

from encoders.deepseek.deep_encoder import EncoderConfig
from ocr.imaging.tiling import TILE_PX
from ocr.model.deepseek_ocr import LanguageConfig, OcrConfig
from pipeline.bench.roofline.encoder_flops import view_flops
from pipeline.bench.roofline.rates import Rates
from pipeline.bench.roofline.token_counts import global_tokens, tile_tokens

# Tokens of a tile if two lie side by side, as on an upright page.
_TILE_TOKENS = tile_tokens((2, 1)) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PageWork:
    """The work of an average page. readings: 1, or more where pages are read in crops or twice.

    tiles: of all its readings. view_px: side of the global view. words: tokens of the prompt besides the page's.
    output_tokens: of all its readings. rows: pages that a decoding step reads at once.
    """

    readings: float
    tiles: float
    view_px: int
    words: int
    output_tokens: float
    rows: int

    @property
    def prompt_tokens(self) -> float:
        """The prompt's tokens in one reading."""
        if not self.readings:
            return 0.0
        return global_tokens(self.view_px) + _TILE_TOKENS * self.tiles / self.readings + self.words

    @property
    def context(self) -> float:
        """The number of tokens before a written one, averaged over a reading."""
        return self.prompt_tokens + (self.output_tokens / self.readings / 2 if self.readings else 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """The least seconds per page, by cause. weights_s, kv_s: for decoding, with weights read once for all rows."""

    encoder_s: float
    prefill_s: float
    weights_s: float
    kv_s: float

    @property
    def page_s(self) -> float:
        """The least seconds per page."""
        return self.encoder_s + self.prefill_s + self.weights_s + self.kv_s

    @property
    def pages_s(self) -> float:
        """The most pages per second."""
        return 1 / self.page_s


def page_bound(config: OcrConfig, work: PageWork, rates: Rates, dtype_bytes: int) -> Bound:
    """Returns the bound for such a page. dtype_bytes: of a weight, and of a number in the cache."""
    language = config.language
    steps_bytes = step_weights(language, work.rows) * dtype_bytes / work.rows
    cache_bytes = token_cache_numbers(language) * dtype_bytes * work.context
    return Bound(
        encoder_s=_encoder_flops(config.encoder, work) / rates.matrix_flops_s,
        prefill_s=work.readings * prefill_flops(language, work.prompt_tokens) / rates.matrix_flops_s,
        weights_s=work.output_tokens * steps_bytes / rates.copy_bytes_s,
        kv_s=work.output_tokens * cache_bytes / rates.copy_bytes_s,
    )


def prefill_flops(config: LanguageConfig, tokens: float) -> float:
    """Returns the operations of a prefill; a multiply-add counts as two, causal attention as half of full attention."""
    attended = 2 * tokens**2 * config.hidden_size * config.num_hidden_layers
    return 2 * tokens * _token_weights(config) + attended + 2 * config.vocab_size * config.hidden_size


def step_weights(config: LanguageConfig, rows: int) -> float:
    """Returns the number of weights that a step of `rows` rows reads; each row chooses its experts, here uniformly."""
    chosen = 1 - (1 - config.num_experts_per_tok / config.n_routed_experts) ** rows
    routed = _sparse_layers(config) * config.n_routed_experts * _expert(config)
    always = _token_weights(config) - _sparse_layers(config) * config.num_experts_per_tok * _expert(config)
    return always + chosen * routed + config.vocab_size * config.hidden_size


def token_cache_numbers(config: LanguageConfig) -> int:
    """Returns how many numbers the cache holds for one token: keys and values of all layers."""
    width = config.hidden_size // config.num_attention_heads
    return 2 * config.num_hidden_layers * config.num_key_value_heads * width


def _encoder_flops(config: EncoderConfig, work: PageWork) -> float:
    tiles = work.tiles * view_flops(config, TILE_PX) if work.tiles else 0.0
    return work.readings * view_flops(config, work.view_px) + tiles


def _token_weights(config: LanguageConfig) -> int:
    """Returns how many matrix weights a token is multiplied with in all layers, without embedding and head."""
    width = config.hidden_size // config.num_attention_heads
    heads = 2 * config.num_attention_heads + 2 * config.num_key_value_heads
    attention = config.hidden_size * heads * width
    dense = 3 * config.hidden_size * config.intermediate_size
    sparse = (config.num_experts_per_tok + config.n_shared_experts) * _expert(config)
    sparse += config.hidden_size * config.n_routed_experts
    num_sparse = _sparse_layers(config)
    return (
        config.num_hidden_layers * attention
        + (config.num_hidden_layers - num_sparse) * dense
        + num_sparse * sparse
    )


def _sparse_layers(config: LanguageConfig) -> int:
    return max(config.num_hidden_layers - config.first_k_dense_replace, 0)


def _expert(config: LanguageConfig) -> int:
    return 3 * config.hidden_size * config.moe_intermediate_size
