"""A checkpoint whose reading is known, so that whole runs can be tested with a page model."""

from dataclasses import replace
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from ocr.checkpoints.checkpoint import BOS, EOS
from ocr.model.prompt import IMAGE_TAG
from tests.ocr.saving import save
from tests.ocr.tiny import TINY, tiny_model

TEXT = "very very good very"
# A folder that is configured as a page model, of DeepSeek-OCR's shape, where none is loaded.
PAGE_MODEL = str(Path(__file__).with_name("page_model"))
# Quick views, and the settings under which save_reader's model writes TEXT.
READS_TEXT = (
    "tile.mode=tiny",
    "decode.pdf.size=2",
    "decode.image.size=2",
    "decode.max_tokens=200",
    "render.workers=1",
    # It is never sure of anything.
    "ladder.below=0.0",
    "store.doubtful_below=0.0",
    "text_layer=ignore",
    "words=off",
)


def save_reader(directory: Path, words: tuple[str, str] = ("very", "good")) -> Path:
    """Saves a tiny model that reads TEXT, or the same of other words, from any page, and returns its directory.

    All its logits are equal, so the first token that the no-repeat rule allows wins: with pairs of tokens
    forbidden to repeat, it writes 0 0 1 0, and then only end-of-text (2) may follow a 0.
    """
    vocabulary = [*words, EOS, BOS, IMAGE_TAG]
    tokenizer = Tokenizer(
        models.WordLevel({word: i for i, word in enumerate(vocabulary)}, unk_token=words[0])
    )
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=False)
    language = replace(TINY.language, eos_token_id=len(words), bos_token_id=len(words) + 1)
    model = tiny_model(replace(TINY, language=language))
    torch.nn.init.zeros_(model.lm_head.weight)
    save(model, directory, tokenizer=tokenizer)
    return directory
