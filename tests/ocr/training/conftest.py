from pathlib import Path

import pytest
from tokenizers import Tokenizer

from ocr.training.tokens import CHARACTERS, train
from tests.ocr.training.sources import CODE, SENTENCE, make_corpus


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_corpus(tmp_path_factory.mktemp("corpus") / "data")


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return train([SENTENCE * 20, CODE * 5, "Größe und Maß der Straße " * 9], vocab_size=420)


@pytest.fixture(scope="session")
def characters() -> str:
    return CHARACTERS
