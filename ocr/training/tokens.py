"""The small model's tokenizer: byte-level BPE with single digits, and DeepSeek-OCR's special tokens."""

from collections.abc import Iterable

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

BOS, EOS, PAD = "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜▁pad▁｜>"
SPECIAL = [
    BOS,
    EOS,
    PAD,
    "<image>",
    "<|ref|>",
    "<|/ref|>",
    "<|det|>",
    "<|/det|>",
    "<|grounding|>",
    "<td>",
    "</td>",
    "<tr>",
    "</tr>",
    "<table>",
    "</table>",
]
# Letters with one leading space, one digit, a run of marks with one leading space, line breaks, other spaces.
_PIECES = r" ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]{1,3}|\n+|\s+"

_GREEK = "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩαβγδεζηθικλμνξοπρςστυφχψωϑϕϵ"
_MARKS = "–—―‘’‚“”„†‡•…‰′″‹›€™←↑→↓↔⇒⇔∀∂∃∅∆∇∈∉∏∑−∗∘√∝∞∠∧∨∩∪∫∼≈≠≡≤≥⊂⊃⊆⊕⊗⊥⋅⟨⟩ℓ−■□▪▶◦●★✓ȘșȚț"


def _drawn(first: int, last: int) -> str:
    return "".join(chr(c) for c in range(first, last + 1))


# The classes of the character maps that training predicts, after 0 (an empty cell) and 1 (any other character).
CHARACTERS = "".join(
    dict.fromkeys(_drawn(0x21, 0x7E) + _drawn(0xA1, 0xFF) + _drawn(0x100, 0x17F) + _GREEK + _MARKS)
).replace("\xad", "")


def train(texts: Iterable[str], vocab_size: int = 4096) -> Tokenizer:
    """Returns a tokenizer learnt from the texts. Special tokens get the first ids, as in the published model."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[AddedToken(t, special=True, normalized=False) for t in SPECIAL],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        max_token_length=12,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer
