"""The table of published models: its facts, and that a slip in it is refused by its key."""

import dataclasses

import pytest
import yaml

from ocr.errors import ModelTableError
from ocr.families.catalogue.published_models import PublishedModel, find_model, published_models, read_table
from ocr.types import OutputFormat

ENTRY = {
    "name": "Some",
    "hub": "owner/some-*",
    "model_type": "some_type",
    "prompts": {"page": "Read."},
    "format": "text",
    "max_new_tokens": 9,
    "licence": {"name": "MIT", "commercial": "allowed"},
}


def entry_of(repository: str) -> PublishedModel:
    model = find_model(repository)
    assert model is not None, repository
    return model


def table(*entries: object) -> str:
    return yaml.safe_dump(list(entries))


@pytest.mark.parametrize(
    ("repository", "name", "page"),
    [
        ("PaddlePaddle/PaddleOCR-VL", "PaddleOCR-VL", "OCR:"),
        ("PaddlePaddle/PaddleOCR-VL-1.6", "PaddleOCR-VL 1.5 and later", "OCR:"),
        ("lightonai/LightOnOCR-2-1B-base", "LightOnOCR 2", ""),
        ("lightonai/LightOnOCR-1B-1025", "LightOnOCR", ""),
        ("lightonai/LightOnOCR-3-0.8B", "LightOnOCR 3", ""),
        ("lightonai/LightOnOCR-3-4B", "LightOnOCR 3", ""),
        ("lightonai/LightOnOCR-3-1B", "LightOnOCR", ""),
        ("Qwen/Qwen2-VL-72B-Instruct", "Qwen2-VL 72B", None),
        ("Qwen/Qwen2-VL-7B-Instruct", "Qwen2-VL", None),
        ("ibm-granite/granite-docling-258M", "Granite-Docling 258M", "Convert this page to docling."),
        ("docling-project/granite-for-docling-500m", "Granite for Docling", "<doclang>"),
        ("Qwen/Qwen2.5-VL-3B-Instruct", "Qwen2.5-VL 3B", None),
        ("qwen/qwen2.5-vl-7b-instruct", "Qwen2.5-VL", None),
        ("openbmb/MiniCPM-V-4_6", "MiniCPM-V 4.6", None),
        ("deepseek-community/DeepSeek-OCR-2", "DeepSeek-OCR-2", None),
        ("allenai/olmOCR-2-7B-1025-FP8", "olmOCR 2", None),
    ],
)
def test_a_repository_has_the_special_entry_before_the_general_one(
    repository: str, name: str, page: str | None
) -> None:
    model = entry_of(repository)
    assert model.name == name
    assert page is None or model.prompts["page"] == page


def test_another_repository_has_none() -> None:
    assert find_model("Qwen/Qwen2.5-7B-Instruct") is None


def test_what_differs_from_other_models_is_said() -> None:
    doctags = entry_of("ibm-granite/granite-docling-258M")
    unlimited = entry_of("baidu/Unlimited-OCR")
    got = entry_of("stepfun-ai/GOT-OCR-2.0-hf")
    olm = entry_of("allenai/olmOCR-2-7B-1025")
    hunyuan = entry_of("tencent/HunyuanOCR")
    assert (doctags.format, doctags.stop[0], doctags.keep_special_tokens) == ("doctags", "</doctag>", True)
    assert unlimited.ngram is not None
    assert (unlimited.ngram.size, unlimited.ngram.window, unlimited.prompting) == (35, 128, "raw")
    assert (got.prompting, got.processor, got.stop) == ("processor", {"format": True}, ("<|im_end|>",))
    assert (olm.front_matter, olm.longest_px, olm.prompts["page"].count("\n")) == (True, 1288, 2)
    assert hunyuan.licence.commercial == "restricted"
    assert doctags.output_format == OutputFormat(name="doctags", keeps_special_tokens=True)
    assert olm.output_format == OutputFormat(name="markdown_html_tables", front_matter=True)


def test_the_format_goes_with_the_pages_own_prompt() -> None:
    """Of another prompt's text, also of one for another task, nothing is known: it is taken as it is written."""
    doctags = entry_of("ibm-granite/granite-docling-258M")
    own = doctags.prompts["page"]
    for prompt in (own, f"<image>{own}", f"<image>\n{own} ", f"{own}\n<image>"):
        assert doctags.format_for(prompt) == doctags.output_format
    for prompt in (f"{own} Please.", "<image>Convert formula to LaTeX.", "<image>"):
        assert doctags.format_for(prompt) == OutputFormat(name="markdown", keeps_special_tokens=True)
    olm, got = entry_of("allenai/olmOCR-2-7B-1025"), entry_of("stepfun-ai/GOT-OCR-2.0-hf")
    assert olm.format_for("<image>What is this?") == OutputFormat(name="markdown")
    assert got.format_for("") == got.format_for("<image>") == got.output_format
    second = entry_of("deepseek-ai/DeepSeek-OCR-2")
    assert second.format_for(second.prompts["text"]).name == "markdown"


def test_transformers_has_a_class_for_every_type() -> None:
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

    types = {model.model_type for model in published_models()}
    assert types <= set(MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES)
    assert len(types) >= 14


def test_a_raw_prompt_alone_names_the_image() -> None:
    for model in published_models():
        for task, prompt in model.prompts.items():
            assert ("<image>" in prompt) == (model.prompting == "raw"), f"{model.name}: {task}"


def test_an_entry_needs_seven_keys_alone() -> None:
    (model,) = read_table(table(ENTRY))
    assert model.unverified == ()
    assert (model.prompting, model.stop, model.ngram, model.longest_px) == ("chat", (), None, None)
    assert model.licence.name == "MIT"
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.name = "Other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"sizes": 9}, "Some.sizes is 9"),
        ({"promts": {}}, "Some.promts is {}: Unexpected"),
        ({"licence": {"name": "MIT"}}, "Some.licence.commercial is {'name': 'MIT'}: Field required"),
        ({"licence": {"name": "MIT", "commercial": True}}, "Some.licence.commercial is True"),
        ({"licence": "MIT"}, "Some.licence is 'MIT'"),
        ({"format": "html"}, "Some.format is 'html': Input should be 'text', 'markdown'"),
        ({"max_new_tokens": "9"}, "Some.max_new_tokens is '9'"),
        ({"max_new_tokens": True}, "Some.max_new_tokens is True"),
        ({"prompts": {"table": "Read."}}, "prompts.page is missing"),
        ({"prompts": {"page": 1}}, "Some.prompts.page is 1"),
        ({"stop": "</doctag>"}, "Some.stop is '</doctag>': Input should be a valid"),
        ({"ngram": {"size": 35, "windw": 128}}, "Some.ngram.windw is 128: Unexpected"),
        ({"unverified": ["promt"]}, "unverified names promt"),
        ({"keep_special_tokens": "yes"}, "Some.keep_special_tokens is 'yes'"),
    ],
)
def test_a_slip_is_refused_by_its_key(change: dict[str, object], named: str) -> None:
    with pytest.raises(ModelTableError) as refused:
        read_table(table({**ENTRY, **change}))
    assert named in str(refused.value)


def test_a_missing_key_and_a_doubled_name_are_refused() -> None:
    with pytest.raises(ModelTableError, match=r"Some.prompts is .*: Field required; Some.format is"):
        read_table(table({key: ENTRY[key] for key in ENTRY if key not in ("prompts", "format")}))
    with pytest.raises(ModelTableError, match="two models of one name"):
        read_table(table(ENTRY, ENTRY))
    with pytest.raises(ModelTableError, match="not a list"):
        read_table("name: Some")
