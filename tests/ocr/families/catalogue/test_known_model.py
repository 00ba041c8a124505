"""Which entry of the table a model is: by what it says itself, and by what the user says."""

from pathlib import Path
from typing import Any

import pytest

from ocr.errors import CheckpointError
from ocr.families.catalogue.known_model import ModelFacts, known_model
from ocr.families.registry import described, model_sha256
from tests.ocr.families.unlimited_ocr.tiny_unlimited import save

QWEN = {"model_type": "qwen2_5_vl", "hidden_size": 3584}


def name_of(name: str, config: dict[str, Any], entry: str | None = None) -> str:
    return known_model(ModelFacts(name=name, config=config, entry=entry)).model.name


@pytest.mark.parametrize(
    ("name", "config", "expected"),
    [
        ("allenai/olmOCR-2-7B-1025", QWEN, "olmOCR 2"),
        ("someone/finetune", QWEN, "Qwen2.5-VL"),
        ("x", QWEN | {"_name_or_path": "allenai/olmOCR-2-7B-1025"}, "olmOCR 2"),
        ("x", QWEN | {"_name_or_path": "/data/models/allenai/olmOCR-2-7B-1025"}, "olmOCR 2"),
        ("x", QWEN | {"_name_or_path": None}, "Qwen2.5-VL"),
        # The repository that the user names says more than the model that it was trained from.
        ("nanonets/Nanonets-OCR-s", QWEN | {"_name_or_path": "Qwen/Qwen2.5-VL-3B-Instruct"}, "Nanonets-OCR"),
        # A name of a model of another type means something else.
        ("allenai/olmOCR-2-7B-1025", {"model_type": "qwen3_vl"}, "Qwen3-VL"),
        ("x", {"model_type": "qwen3_vl", "_name_or_path": "allenai/olmOCR-2-7B-1025"}, "Qwen3-VL"),
        ("x", QWEN | {"hidden_size": 2048}, "Qwen2.5-VL 3B"),
        ("x", {"model_type": "qwen2_5_vl", "text_config": {"hidden_size": 8192}}, "Qwen2.5-VL 72B"),
        ("x", {"model_type": "deepseek_vl_v2"}, "DeepSeek-OCR-2"),
        ("x", {"model_type": "unlimited-ocr", "_name_or_path": "Unlimited-OCR"}, "Unlimited-OCR"),
    ],
)
def test_repository_then_its_own_name_then_type_and_sizes_decide(
    name: str, config: dict[str, Any], expected: str
) -> None:
    assert name_of(name, config) == expected


def test_a_folders_name_decides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even one that is a repository's, seen from the current folder."""
    monkeypatch.chdir(tmp_path)
    for folder in ("allenai/olmOCR-2-7B-1025", "b"):
        Path(folder).mkdir(parents=True)
        assert name_of(folder, QWEN) == name_of(str(tmp_path / folder), QWEN) == "Qwen2.5-VL"


def test_the_user_decides_before_all_else(tmp_path: Path) -> None:
    for entry in ("olmOCR 2", "OLMocr 2", "allenai/olmOCR-2-7B-1025"):
        assert name_of("Qwen/Qwen2.5-VL-7B-Instruct", QWEN, entry) == "olmOCR 2"
    with pytest.raises(CheckpointError, match=r"no entry .* choose .*'olmOCR 2' or 'Nanonets-OCR'"):
        name_of("x", QWEN, "olmOCR")
    with pytest.raises(CheckpointError, match=r"GLM-OCR is of type glm_ocr, .* says 'qwen2_5_vl'; choose"):
        name_of("x", QWEN, "GLM-OCR")
    (tmp_path / "config.json").write_text('{"model_type": "deepseek_vl_v2"}', encoding="utf-8")
    with pytest.raises(CheckpointError, match="model_entry is 'olmOCR 2', but DeepSeek-OCR has no entries"):
        described(str(tmp_path), "olmOCR 2")


def test_the_reason_says_how_to_choose_another() -> None:
    reasons = [
        known_model(ModelFacts(name=name, config=config, entry=entry)).reason
        for name, config, entry in (
            ("x", QWEN, "olmOCR 2"),
            ("allenai/olmOCR-2-7B-1025", QWEN, None),
            ("x", QWEN | {"_name_or_path": "Qwen/Qwen2.5-VL-7B-Instruct"}, None),
            ("x", QWEN | {"hidden_size": 8192}, None),
            ("x", {"model_type": "glm_ocr"}, None),
        )
    ]
    assert reasons[:3] == [
        "as model_entry says",
        "by the repository's name",
        "by the name in its config.json, Qwen/Qwen2.5-VL-7B-Instruct",
    ]
    assert reasons[3].startswith("by its type, qwen2_5_vl, and hidden_size 8192; if it is olmOCR 2 or ")
    assert reasons[3].endswith("set model_entry")
    assert reasons[4] == "by its type, glm_ocr"


def test_a_folder_under_another_name_is_the_same_model(tmp_path: Path) -> None:
    save(tmp_path / "baidu" / "Unlimited-OCR")
    before = model_sha256(str(tmp_path / "baidu" / "Unlimited-OCR"))
    renamed = (tmp_path / "baidu").rename(tmp_path / "allenai") / "Unlimited-OCR"
    renamed = renamed.rename(tmp_path / "allenai" / "olmOCR-2-7B-1025")
    assert model_sha256(str(renamed)) == before == model_sha256(str(renamed), "unlimited-ocr")
