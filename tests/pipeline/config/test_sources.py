import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config.schema import Config
from pipeline.config.sources import as_stored, load, nearest_key, parse_set, valid_keys
from pipeline.errors import ConfigError


def write(folder: Path, text: str) -> str:
    path = folder / "my.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_defaults_without_a_file() -> None:
    assert load() == Config()


def test_a_run_s_configuration_is_known_by_the_keys_that_there_still_are() -> None:
    stored = load(None, ["render.dpi=99", "ladder.rungs=[{name: a, dpi: 300}]"])
    values = stored.model_dump(mode="json")
    values["tile"]["parts"], values["ladder"]["rungs"][0]["reader"] = "auto", None
    assert as_stored(values) == stored
    assert as_stored({**values, "of_tomorrow": 1}) == Config()


def test_later_layers_win(tmp_path: Path) -> None:
    file = write(
        tmp_path, "decode: {batch_size: 2, max_tokens: 100}\nmodel: from-file\ntile: {max_tiles: 4}\n"
    )
    options = [("--model", {"model": "from-option"})]
    config = load(file, ["decode.batch_size=3", "model=from-set"], options)
    assert config.decode.max_tokens == 100
    assert config.decode.batch_size == 3
    assert config.model == "from-option"
    assert config.tile.max_tiles == 4


def test_relative_paths_of_a_file_are_taken_from_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    (tmp_path / "model").mkdir()
    file = write(
        tmp_path,
        "model: model\ningest: {paths: [inbox, /mnt/scans, ~/papers], exclude: ['a/*'], password_file: secret}\n"
        "store: {database: a.db}\nrun: {log_file: log/run.log, summary_file: run.json}\n",
    )
    config = load(file, ["run.summary_file=other.json"], [("--db", {"store": {"database": "b.db"}})])
    assert config.ingest.paths == [f"{tmp_path}/inbox", "/mnt/scans", "/home/me/papers"]
    assert config.ingest.exclude == ["a/*"]
    assert (config.ingest.password_file, config.run.log_file) == (
        f"{tmp_path}/secret",
        f"{tmp_path}/log/run.log",
    )
    assert config.model == f"{tmp_path}/model"
    assert (config.run.summary_file, config.store.database) == ("other.json", "b.db"), "not from the file"
    assert load(file).store.database == f"{tmp_path}/a.db"
    monkeypatch.chdir(tmp_path)
    assert load("my.yaml").ingest.paths[0] == "inbox", "as it was before, from the same folder"


@pytest.mark.parametrize("model", ["small", "deepseek-ai/DeepSeek-OCR", "/models/a"])
def test_a_model_that_is_no_folder_beside_the_file_is_a_name(model: str, tmp_path: Path) -> None:
    assert load(write(tmp_path, f"model: {model}")).model == model


@pytest.mark.parametrize("text", ["ingest: {paths: 7}", "ingest: 7", "store: {database: [a]}", "model: 7"])
def test_what_is_no_path_is_refused_as_before(text: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"my\.yaml: "):
        load(write(tmp_path, text))


def test_layers_are_not_changed_by_merging() -> None:
    layer = {"decode": {"batch_size": 2}}
    load(None, ["decode.batch_size=3"], [("first", layer), ("second", {"decode": {"max_tokens": 5}})])
    assert layer == {"decode": {"batch_size": 2}}


@pytest.mark.parametrize(
    ("text", "key", "nearest"),
    [
        ("decode: {bach_size: 4}", "decode.bach_size", "decode.batch_size"),
        ("rendr: {dpi: 100}", "rendr", "render"),
        ("batch_size: 4", "batch_size", "decode.batch_size"),
        ("decode: {pdf: {sise: 3, window: 9}}", "decode.pdf.sise", "decode.pdf.size"),
        (
            "ingest: {max_page_per_document: 3}",
            "ingest.max_page_per_document",
            "ingest.max_pages_per_document",
        ),
    ],
)
def test_unknown_key_names_path_source_and_nearest(tmp_path: Path, text: str, key: str, nearest: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load(file)
    assert f"{file}: unknown key {key}; did you mean {nearest}?" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("decode: {batch_size: '8'}", "decode.batch_size"),
        ("decode: {batch_size: 0}", "decode.batch_size"),
        ("decode: {batch_size: 1.5}", "decode.batch_size"),
        ("run: {force: 1}", "run.force"),
        ("device: gpu", "device"),
        ("decode: 8", "decode"),
        ("ingest: {paths: docs}", "ingest.paths"),
        ("ingest: {paths: [1]}", "ingest.paths.0"),
        ("ingest: {pages: 3-1}", "ingest.pages"),
        ("decode: {prompt: Free OCR.}", "decode.prompt"),
        ("tile: {mode: huge}", "tile.mode"),
    ],
)
def test_ill_typed_key_names_path_and_source(tmp_path: Path, text: str, key: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load(file)
    assert str(caught.value).startswith(f"{file}: {key}: ")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "decode.drafts=false",
            "--set decode.drafts=false: decode.drafts is gone: every token comes from the model",
        ),
        ("decode.length=1", "decode.length is gone: nothing counts a page's characters"),
        ("tile.parts=on", "tile.parts is gone: pages are read whole"),
        ("run.replicas=2", "run.replicas is gone: cluster.workers says how many processes read"),
    ],
)
def test_a_key_that_is_gone_says_what_takes_its_place(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(None, [text])
    assert says in str(caught.value)


def test_the_source_is_the_last_layer_that_set_the_key(tmp_path: Path) -> None:
    file = write(tmp_path, "decode: {batch_size: 2}")
    with pytest.raises(ConfigError, match=r"^--set decode.batch_size=no: decode.batch_size: "):
        load(file, ["decode.batch_size=no"])


def test_every_wrong_key_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(write(tmp_path, "modell: small\nrender: {dpj: 3}"))
    assert "modell" in str(caught.value)
    assert "render.dpj" in str(caught.value)


def test_empty_sections_and_files_are_the_defaults(tmp_path: Path) -> None:
    assert load(write(tmp_path, "decode:\n  # batch_size: 4\nrender:\n")) == Config()
    assert load(write(tmp_path, "")) == Config()


@pytest.mark.parametrize("text", ["- a\n- b", "just text", "a: [", "a: b: c"])
def test_what_is_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"my\.yaml"):
        load(write(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "ingest:\n  exclude: [a]\n\nstore: {}\ningest:\n  pages: 1-3\n",
            "ingest stands twice, in lines 1 and 5",
        ),
        ("decode:\n  pdf: {size: 2}\n  pdf:\n    window: 9\n", "pdf stands twice, in lines 2 and 3"),
        ("ladder:\n  rungs:\n  - name: a\n    dpi: 99\n    dpi: 98\n", "dpi stands twice, in lines 4 and 5"),
    ],
)
def test_a_key_that_stands_twice_is_refused(tmp_path: Path, text: str, says: str) -> None:
    """YAML would drop the first without a word, with everything in its section."""
    with pytest.raises(ConfigError, match=rf"my\.yaml: .*{says}"):
        load(write(tmp_path, text))


def test_missing_file_is_named() -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml.*--config"):
        load("nowhere.yaml")


def test_binary_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "binary.yaml"
    path.write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(ConfigError, match=r"binary\.yaml"):
        load(str(path))


@pytest.mark.parametrize("text", ["decode.batch_size", "=3", ".a=3", "a..b=3", "a=[", ""])
def test_malformed_set_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--set"):
        parse_set(text)


def test_set_reads_values_as_yaml() -> None:
    assert parse_set("ingest.include=['*.pdf', '*.png']") == {"ingest": {"include": ["*.pdf", "*.png"]}}
    assert parse_set("decode.prompt=null") == {"decode": {"prompt": None}}
    assert parse_set("a=b=c") == {"a": "b=c"}


@given(st.text(max_size=40))
def test_any_set_is_a_configuration_or_a_config_error(text: str) -> None:
    with contextlib.suppress(ConfigError):
        assert isinstance(load(None, [text]), Config)


def test_nearest_key_is_itself_for_every_valid_key() -> None:
    keys = list(valid_keys())
    assert "decode.pdf.window" in keys
    assert [nearest_key(key) for key in keys] == keys


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("modle", "model"),
        ("mode", "tile.mode"),
        ("batch_size", "decode.batch_size"),
        ("tile.mdoe", "tile.mode"),
    ],
)
def test_the_nearest_key_is_rather_of_the_same_section(key: str, nearest: str) -> None:
    assert nearest_key(key) == nearest


def test_a_glob_is_a_text_and_a_text_a_list_of_one() -> None:
    config = load(None, ["ingest.exclude=*.pdf", "ingest.include=scan?.png"])
    assert (config.ingest.exclude, config.ingest.include) == (["*.pdf"], ["scan?.png"])
    with pytest.raises(ConfigError, match=r"""quoted: --set 'ingest.exclude="..."'"""):
        parse_set("ingest.exclude=[*.pdf]")
