"""Computes the least time that a page can take: its operations at the matrix rate, its bytes at the rate of a copy.

The bound assumes that arithmetic and memory traffic do not overlap, though they could, and one token per step.
A multiply-add counts as two operations. Of the encoder matrix products and convolutions count, with relative
positions and the padding of SAM's windows, but not norms, activations and softmax.
"""

from dataclasses import dataclass

from encoders.deepseek.clip import ClipConfig
from encoders.deepseek.deep_encoder import EncoderConfig
from encoders.deepseek.sam import SamConfig
from ocr.imaging.tiling import TILE_PX
from ocr.model.deepseek_ocr import LanguageConfig, OcrConfig
from pipeline.bench.roofline.rates import Rates

_TOKEN_PX = 64  # a view has a token for so many pixels in each direction
# Tokens of a tile if two lie side by side, as on an upright page: of two tiles each row ends in one newline.
_TILE_TOKENS = (2 * TILE_PX // _TOKEN_PX + 1) * (TILE_PX // _TOKEN_PX) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class AveragePage:
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
        side = self.view_px // _TOKEN_PX  # each row of the view has a newline, and a separator ends it
        return side * (side + 1) + 1 + _TILE_TOKENS * self.tiles / self.readings + self.words

    @property
    def context(self) -> float:
        """The number of tokens before a written one, averaged over a reading."""
        return self.prompt_tokens + (self.output_tokens / self.readings / 2 if self.readings else 0.0)


def page_bound(config: OcrConfig, work: AveragePage, rates: Rates, dtype_bytes: int) -> dict[str, float]:
    """Returns the least seconds per page, by cause and in all, and the most pages per second.

    dtype_bytes: of a weight, and of a number in the cache. weights_s, kv_s: for decoding, with weights read once for
    all rows.
    """
    language = config.language
    steps_bytes = step_weights(language, work.rows) * dtype_bytes / work.rows
    cache_bytes = token_cache_numbers(language) * dtype_bytes * work.context
    encoder_flops = work.readings * view_flops(config.encoder, work.view_px)
    encoder_flops += work.tiles * view_flops(config.encoder, TILE_PX)
    seconds = {
        "encoder_s": encoder_flops / rates.matrix_flops_s,
        "prefill_s": work.readings * prefill_flops(language, work.prompt_tokens) / rates.matrix_flops_s,
        "weights_s": work.output_tokens * steps_bytes / rates.copy_bytes_s,
        "kv_s": work.output_tokens * cache_bytes / rates.copy_bytes_s,
    }
    page_s = sum(seconds.values())
    return seconds | {"page_s": page_s, "pages_s": 1 / page_s}


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


def sam_flops(config: SamConfig, view_px: int) -> int:
    """Returns the operations of one view in SAM, its neck and the two strided convolutions."""
    side = view_px // config.patch_px
    width, neck = config.width, config.neck_channels
    first, second = config.downsample_channels
    total = 2 * side**2 * width * 3 * config.patch_px**2
    for layer in range(config.num_layers):
        window = 0 if layer in config.global_layers else config.window
        total += _sam_layer(config, side, window)
    total += 2 * side**2 * neck * (width + 9 * neck)
    half, quarter = _halved(side), _halved(_halved(side))
    return total + 2 * 9 * (half**2 * neck * first + quarter**2 * first * second)


def clip_flops(config: ClipConfig, view_px: int) -> int:
    """Returns the operations of one view in CLIP: a token for every 64 px in each direction, and the class token."""
    tokens, width = (view_px // _TOKEN_PX) ** 2 + 1, config.width
    layer = 2 * tokens * width * (4 * width + 2 * config.mlp_dim) + 4 * tokens**2 * width
    return config.num_layers * layer


def view_flops(config: EncoderConfig, view_px: int) -> int:
    """Returns the operations of one view in the whole encoder, projector included."""
    projected = config.clip.width + config.sam.downsample_channels[-1]
    projector = 2 * (view_px // _TOKEN_PX) ** 2 * projected * config.embed_dim
    return sam_flops(config.sam, view_px) + clip_flops(config.clip, view_px) + projector


def _sam_layer(config: SamConfig, side: int, window: int) -> int:
    """Returns the operations of a SAM layer. window: side of the attention windows, 0 for a global layer."""
    extent = window or side
    windows = (-(-side // window)) ** 2 if window else 1
    queries = windows * extent**2
    attended = 4 * queries * extent**2 * config.width  # scores and their product with the values
    attended += 4 * queries * extent * config.width  # relative positions, by row and by column
    projections = 2 * queries * config.width * 4 * config.width
    return attended + projections + 4 * side**2 * config.width * config.mlp_dim


def _halved(side: int) -> int:
    """Returns the output size of a convolution with kernel 3, stride 2 and padding 1."""
    return (side - 1) // 2 + 1
