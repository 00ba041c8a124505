"""The shape of the small model that ships."""

from encoders.clip import ClipConfig
from encoders.deepseek import CharacterHeadConfig, EncoderConfig
from encoders.sam import SamConfig
from ocr.model import LanguageConfig, OcrConfig

PROMPT = "<image>\nFree OCR."


def small_config(num_characters: int) -> OcrConfig:
    """24.5 M parameters: under 24 MiB at 8 bits.

    Two key/value heads, because reading the cache bounds decoding on a CPU. No relative positions: they cost
    a bias in every attention and the trial read well without. num_characters: classes of the character head,
    0 the empty cell, 1 any other character.
    """
    return OcrConfig(
        encoder=EncoderConfig(
            sam=SamConfig(
                width=256, num_layers=6, num_heads=4, mlp_dim=1024, global_layers=(2, 5), use_rel_pos=False,
                neck_channels=192, downsample_channels=(256, 384),
            ),
            clip=ClipConfig(width=384, num_layers=3, num_heads=6, mlp_dim=1536),
            embed_dim=384,
            character_head=CharacterHeadConfig(num_characters=num_characters),
        ),
        language=LanguageConfig(
            vocab_size=4096, hidden_size=384, intermediate_size=1024, num_hidden_layers=6, num_attention_heads=6,
            num_key_value_heads=2, first_k_dense_replace=6, tie_word_embeddings=True,
        ),
        prompt=PROMPT,
    )  # fmt: skip
