from pathlib import Path

import pytest
from transformers import UnlimitedOcrForConditionalGeneration

from ocr.model.deepseek_ocr import OcrModel
from tests.ocr.saving import save
from tests.ocr.tiny import TINY, reference_model, tiny_model, tiny_tokenizer


@pytest.fixture(scope="session")
def model() -> OcrModel:
    return tiny_model()


@pytest.fixture(scope="session")
def checkpoint(model: OcrModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("tiny")
    save(model, directory, tokenizer=tiny_tokenizer())
    return directory


@pytest.fixture(scope="session")
def reference(checkpoint: Path) -> UnlimitedOcrForConditionalGeneration:
    return reference_model(checkpoint, TINY)
