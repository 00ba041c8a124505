"""Saves a tiny checkpoint whose text depends on the page, so that swapped pages are noticed."""

from dataclasses import replace
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from ocr.checkpoints.checkpoint import BOS, EOS
from ocr.model.prompt import IMAGE_TAG
from tests.ocr.saving import save
from tests.ocr.tiny import TINY, tiny_model

# Fast views, few tokens, and no pair of words twice on a page: random weights repeat themselves otherwise.
READS_WORDS = (
    "tile.mode=tiny",
    "decode.pdf={size: 2, window: 300}",
    "decode.image={size: 2, window: 300}",
    "decode.max_tokens=300",
    # With random weights it is never sure of anything.
    "store.doubtful_below=0.0",
)
_SEED = 1
# With random weights the end comes after a hundred words or never; it should come after some twenty.
_END_GAIN, _ATTENTION_GAIN = 1.6, 8.0


def save_words(directory: Path) -> Path:
    """Saves a model of random weights that writes other words for every page, and returns its directory.

    A few of its pages end at decode.max_tokens, and are truncated, which is one of the ends that a page can have.
    """
    words = [EOS, BOS, IMAGE_TAG, *(f"w{i}" for i in range(TINY.language.vocab_size - 3))]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=False)
    language = replace(TINY.language, eos_token_id=0, bos_token_id=1)
    model = tiny_model(replace(TINY, language=language), _SEED)
    model.lm_head.weight[0] *= _END_GAIN
    for layer in model.language_model.layers:  # or the image would hardly matter
        layer.self_attn.o_proj.weight *= _ATTENTION_GAIN
    save(model, directory, tokenizer=tokenizer)
    return directory
