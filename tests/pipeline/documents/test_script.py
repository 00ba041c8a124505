import json
from pathlib import Path

import pytest

from pipeline.documents.script import known_scripts, main_script, script_shares, scripts_named


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("The quick brown fox jumps over the lazy dog", "Latn"),
        ("Широкая электрификация южных губерний", "Cyrl"),
        ("Η γρήγορη καφέ αλεπού πηδάει", "Grek"),
        ("नमस्ते दुनिया यह एक परीक्षण पाठ है", "Deva"),
        ("これは日本語の文章です。東京都", "Jpan"),
        ("这是一个中文句子用来测试识别", "Hani"),
        ("한국어 문장을 읽는 시험입니다", "Kore"),
        ("هذا نص باللغة العربية للاختبار", "Arab"),
        ("זהו משפט בעברית לבדיקה", "Hebr"),
    ],
)
def test_a_text_is_in_its_script(text: str, script: str) -> None:
    assert main_script(text) == script


def test_symbols_of_formulas_are_no_text_in_greek() -> None:
    assert script_shares("where α, β and γ are constants, πr² is the area and Δx is small") == {"Latn": 1.0}


def test_a_page_in_russian_with_english_terms_is_a_russian_one() -> None:
    text = "Команда commit записывает изменения, branch создаёт ветку, merge соединяет их"
    assert main_script(text) == "Cyrl"
    assert main_script("The word привет is Russian for hello, and nothing else on this page is") == "Latn"


def test_a_few_letters_do_not_tell() -> None:
    assert main_script("12 mm") is None


def test_the_shipped_reader_knows_latin_only() -> None:
    assert known_scripts("small") == frozenset({"Latn"})


def test_a_model_knows_what_it_can_name(tmp_path: Path) -> None:
    letters = "".join(map(chr, [*range(0x61, 0x7B), *range(0x430, 0x450), *range(0x3B1, 0x3CA)]))
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "reader.json").write_text(json.dumps({"characters": letters}))
    assert known_scripts(str(tmp_path)) == frozenset({"Latn", "Cyrl"})
    assert "Grek" in scripts_named(map(chr, range(0x386, 0x3CF)))


def test_a_page_model_reads_any(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert known_scripts(str(tmp_path)) is None
