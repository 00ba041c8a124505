"""The configuration of the small model that ships."""

from encoders.deepseek.clip import ClipConfig
from encoders.deepseek.deep_encoder import EncoderConfig
from encoders.deepseek.sam import SamConfig
from ocr.model.deepseek_ocr import LanguageConfig, OcrConfig

PROMPT = "<image>\nFree OCR."


def small_config() -> OcrConfig:
    """Returns the small model's configuration: 24.4 M parameters, under 24 MiB at 8 bits.

    Six key/value heads. Two would read a third of the cache, but a vision token holds a dozen characters over
    several lines, and two heads' values may be too narrow to tell them apart: text accuracy was 0.33 after
    108,000 tiles with two, 0.51 after 84,000 with six. That run also started with a trained patch encoder and
    differed in widths, so it is a hint and no controlled comparison. No relative positions: they cost a bias in every
    attention, and pages read well without.
    """
    return OcrConfig(
        encoder=EncoderConfig(
            sam=SamConfig(
                width=256, num_layers=6, num_heads=4, mlp_dim=1024, global_layers=(2, 5), use_rel_pos=False,
                neck_channels=192, downsample_channels=(256, 384),
            ),
            clip=ClipConfig(width=384, num_layers=3, num_heads=6, mlp_dim=1152),
            embed_dim=384,
        ),
        language=LanguageConfig(
            vocab_size=4096, hidden_size=384, intermediate_size=960, num_hidden_layers=6, num_attention_heads=6,
            num_key_value_heads=6, first_k_dense_replace=6, tie_word_embeddings=True,
        ),
        prompt=PROMPT,
    )  # fmt: skip
