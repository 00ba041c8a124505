"""Learns the tokenizer from a corpus and writes it with the character classes.

`python -m ocr.training.tokenize DATA`
"""

import argparse
import json
import random
from pathlib import Path

from ocr.training.pages.words.text import TextSource, random_words
from ocr.training.tokens import CHARACTERS, train


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ocr.training.tokenize", description=__doc__)
    parser.add_argument("data", type=Path, help="what ocr.training.corpus made")
    data = parser.parse_args().data
    source, rng = TextSource(data / "text"), random.Random(0)
    texts = [
        source.paragraph(rng, category)
        for category in (*source.languages, "en_prose", "en_tech", "code")
        for _ in range(12000 if category == "en_prose" else 900 if category in source.languages else 1500)
        if category in source.paragraphs
    ]
    texts += [random_words(rng, 60) for _ in range(1500)]
    train(texts).save(str(data / "tokenizer.json"))
    (data / "characters.json").write_text(json.dumps(CHARACTERS, ensure_ascii=False))


if __name__ == "__main__":
    main()
