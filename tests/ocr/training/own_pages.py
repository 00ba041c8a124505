"""A model that learns in seconds, and pages to teach it."""

from pathlib import Path

import torch
from PIL import Image, ImageDraw
from tokenizers import Tokenizer, models
from tokenizers.decoders import WordPiece
from tokenizers.pre_tokenizers import Whitespace

from encoders.deepseek.clip import ClipConfig
from encoders.deepseek.deep_encoder import EncoderConfig
from encoders.deepseek.sam import SamConfig
from ocr.checkpoints import checkpoint
from ocr.checkpoints.checkpoint import BOS, EOS, IMAGE, LoadedModel
from ocr.model.deepseek_ocr import LanguageConfig, OcrConfig
from ocr.training.small import PROMPT
from tests.ocr.tiny import tiny_model

CONFIG = OcrConfig(
    encoder=EncoderConfig(
        sam=SamConfig(
            width=16, num_layers=1, num_heads=1, mlp_dim=16, global_layers=(), use_rel_pos=False,
            neck_channels=8, downsample_channels=(16, 32),
        ),
        clip=ClipConfig(width=32, num_layers=1, num_heads=2, mlp_dim=32),
        embed_dim=32,
    ),
    language=LanguageConfig(
        vocab_size=48, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, first_k_dense_replace=2, tie_word_embeddings=True,
    ),
    prompt=PROMPT,
)  # fmt: skip


def words_tokenizer() -> Tokenizer:
    words = [BOS, EOS, IMAGE, *(f"w{i}" for i in range(40))]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="w0"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.decoder = WordPiece(prefix="##", cleanup=False)
    return tokenizer


def write_model(folder: Path, config: OcrConfig = CONFIG) -> Path:
    checkpoint.save(tiny_model(config), folder, tokenizer=words_tokenizer())
    return folder


def load(folder: Path) -> LoadedModel:
    return checkpoint.load(str(folder), device="cpu", dtype=torch.float32)


def write_pages(folder: Path, count: int = 4) -> Path:
    """Pages too small for tiles, each a bar at another height over "w1 w2 w3" and a word of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        image = Image.new("L", (320, 320), 255)
        ImageDraw.Draw(image).rectangle((20, 20 + 70 * number, 300, 60 + 70 * number), 0)
        image.save(folder / f"page{number}.png")
        (folder / f"page{number}.txt").write_text(f"w1 w2 w3\nw{10 + number} w4\n")
    return folder
