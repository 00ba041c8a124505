"""Counts the floating point operations of DeepSeek-OCR's encoder from its configuration; a multiply-add counts as two.

Counts matrix products and convolutions, including relative positions and the padding of SAM's windows, but not norms,
activations and softmax.
"""

from encoders.deepseek.clip import ClipConfig
from encoders.deepseek.deep_encoder import EncoderConfig
from encoders.deepseek.sam import SamConfig


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
    tokens, width = (view_px // 64) ** 2 + 1, config.width
    layer = 2 * tokens * width * (4 * width + 2 * config.mlp_dim) + 4 * tokens**2 * width
    return config.num_layers * layer


def view_flops(config: EncoderConfig, view_px: int) -> int:
    """Returns the operations of one view in the whole encoder, projector included."""
    projected = config.clip.width + config.sam.downsample_channels[-1]
    projector = 2 * (view_px // 64) ** 2 * projected * config.embed_dim
    return sam_flops(config.sam, view_px) + clip_flops(config.clip, view_px) + projector


def _sam_layer(config: SamConfig, side: int, window: int) -> int:
    """Returns the operations of a SAM layer. window: side of the attention windows, 0 for a global layer."""
    extent = window or side
    windows = (-(-side // window)) ** 2 if window else 1
    queries = windows * extent**2
    attended = 4 * queries * extent**2 * config.width  # scores and their product with the values
    if config.use_rel_pos:
        attended += 4 * queries * extent * config.width  # by row and by column
    projections = 2 * queries * config.width * 4 * config.width
    return attended + projections + 4 * side**2 * config.width * config.mlp_dim


def _halved(side: int) -> int:
    """Returns the output size of a convolution with kernel 3, stride 2 and padding 1."""
    return (side - 1) // 2 + 1
