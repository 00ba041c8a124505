"""Defines the configuration: one model per stage, composed here, mirroring the YAML.

pipeline.config.sources tells where values come from.
"""

import hashlib
import json
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from ocr.errors import CheckpointError
from ocr.families.catalogue.known_model import ModelFacts
from ocr.families.family import Family, Kind
from ocr.families.registry import DEEPSEEK, FAMILIES, described, family_of, model_sha256
from ocr.imaging.tiling import Mode
from ocr.model_files.locate import find_directory, has_lines, lacking
from pipeline.config.cluster_section import ClusterConfig
from pipeline.config.encoder_section import EncoderConfig
from pipeline.config.ladder_section import DEFAULT_RETRY_STEPS, LadderConfig, RetryStepConfig
from pipeline.config.page_selection import parse_pages
from pipeline.config.section import SWITCH, NgramSize, Section
from pipeline.documents.settings import IngestSettings, RenderSettings, TileSettings
from pipeline.errors import ConfigError
from pipeline.types import TAKEN_FIRST, TAKEN_LAST, LayerUse, WordUse
from storage.strings.urls import is_url, objection

# Keys that are gone still count, as they were by default: else finished pages would be read again.
_GONE_TILE = {"parts": "auto", "retry_below": 0.9}
_GONE_DECODE = {"length": {"min_share": 0.85, "max_share": 1.5}}
# auto: lines for a model with a line reader.
Reader = Literal["auto", "lines", "page"]


class IngestConfig(Section):
    """Settings of which files and pages are read."""

    paths: list[str] = Field(default_factory=list)
    manifest: str | None = None
    include: list[str] = Field(default_factory=list)
    exclude: list[str] = Field(default_factory=list)
    pages: str | None = None
    max_pages_per_document: int | None = Field(default=None, ge=1)
    max_image_pixels: int = Field(default=200_000_000, ge=1)
    video: bool = False
    video_folders: list[str] = Field(default_factory=list)
    probe_timeout_s: float = Field(default=120.0, gt=0)
    spool: str | None = None
    spool_mb: int = Field(default=4096, ge=1)
    object_timeout_s: float = Field(default=60.0, gt=0)
    password_env: str | None = None
    password_file: str | None = None

    @field_validator("include", "exclude", "video_folders", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        """Returns a single text as a list of one, as in --set ingest.exclude=drafts."""
        return [value] if isinstance(value, str) else value

    @field_validator("paths", "manifest")
    @classmethod
    def _urls_without_secrets(cls, value: Any) -> Any:
        """Refuses URLs with credentials, before anything is logged or stored."""
        for path in [value] if isinstance(value, str) else value or ():
            if is_url(path) and (reason := objection(path)) is not None:
                raise ValueError(reason)
        return value

    @model_validator(mode="after")
    def _folders_are_read_as_videos(self) -> "IngestConfig":
        if self.video_folders and not self.video:
            raise ValueError("video_folders has no effect without video: true; set that too")
        return self

    @field_validator("pages")
    @classmethod
    def _pages_parse(cls, pages: str | None) -> str | None:
        if pages is not None:
            parse_pages(pages)
        return pages


class RenderConfig(Section):
    """Settings of how a page becomes pixels."""

    dpi: float | None = Field(default=None, gt=0, le=2400)
    orientation: Annotated[Literal["auto", "off"], SWITCH] = "auto"
    workers: int | None = Field(default=None, ge=1)
    page_timeout_s: float = Field(default=60.0, gt=0)
    worker_memory_mb: int = Field(default=4096, ge=256)
    operational: ClassVar[frozenset[str]] = frozenset({"workers", "page_timeout_s", "worker_memory_mb"})


class TileConfig(Section):
    """Settings of how pixels become the encoder's views."""

    mode: Mode = "gundam"
    max_tiles: int = Field(default=6, ge=2, le=9)


class NgramConfig(Section):
    """The no-repeat n-gram: no sequence of `size` tokens occurs twice within the last `window`; size 0 allows all.

    None: as the model's own published scripts have it.
    """

    size: NgramSize = None
    window: int | None = Field(default=None, ge=1)


class LoopConfig(Section):
    """Loop detection: stops a page as repeated if its text ends in a sequence of at most `period` tokens over and over.

    The sequence must come at least `repeats` times and cover at least `tokens` tokens; tokens 0 switches this off. A
    page also stops if less than `variety` of the 4-grams in its last 1,024 tokens are distinct.
    """

    tokens: int = Field(default=768, ge=0)
    repeats: int = Field(default=4, ge=2)
    period: int = Field(default=1024, ge=1)
    variety: float = Field(default=0.05, ge=0, lt=1)


class DecodeConfig(Section):
    """Settings of how the language model reads a page."""

    prompt: str | None = None
    pages_per_prompt: int = Field(default=1, ge=1, le=64)
    batch_size: int | None = Field(default=None, ge=1)
    max_tokens: int = Field(default=8192, ge=1, le=8192)
    pdf: NgramConfig = NgramConfig()
    image: NgramConfig = NgramConfig()
    loop: LoopConfig = LoopConfig()
    operational: ClassVar[frozenset[str]] = frozenset({"batch_size"})

    @field_validator("prompt")
    @classmethod
    def _prompt_has_image(cls, prompt: str | None) -> str | None:
        if prompt is not None and prompt.count("<image>") != 1:
            raise ValueError("write <image> exactly once, where the page belongs")
        return prompt


class StoreConfig(Section):
    """Settings of where results are stored and how they are judged."""

    database: str = "ocrbatch.db"
    attempt_limit: int = Field(default=3, ge=1)
    low_confidence: float = Field(default=0.8, ge=0, le=1)
    doubtful_below: float | None = Field(default=None, ge=0, le=1)


class RunConfig(Section):
    """Settings and limits of a run as a whole."""

    force: bool = False
    retry_failed: bool = False
    inflight_mb: int | None = Field(default=None, ge=16)
    time_limit_s: float | None = Field(default=None, gt=0)
    log_file: str | None = None
    log_max_mb: int = Field(default=10, ge=1)
    summary_file: str | None = None
    pdf_to: str | None = None
    move_to: str | None = None


class Config(Section):
    """The whole configuration of `ocrbatch run`."""

    model: str = "small"
    model_entry: str | None = None
    device: Literal["auto", "cpu", "cuda"] = "auto"
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    threads: int | None = Field(default=None, ge=1)
    text_layer: LayerUse = "auto"
    reader: Reader = "auto"
    words: Annotated[WordUse, SWITCH] = "auto"
    ingest: IngestConfig = IngestConfig()
    render: RenderConfig = RenderConfig()
    tile: TileConfig = TileConfig()
    encoder: EncoderConfig = EncoderConfig()
    decode: DecodeConfig = DecodeConfig()
    ladder: LadderConfig = LadderConfig()
    store: StoreConfig = StoreConfig()
    run: RunConfig = RunConfig()
    cluster: ClusterConfig = ClusterConfig()

    @model_validator(mode="before")
    @classmethod
    def _empty_section(cls, values: Any) -> Any:
        """Drops empty sections, so that they get the defaults: with all keys commented out, YAML reads one as null."""
        if not isinstance(values, dict):
            return values
        return {k: v for k, v in values.items() if v is not None or k not in cls.model_fields}


def settings_hash(config: Config, weights_sha256: str) -> str:
    """Returns the sha256 of all settings that affect a page's text.

    These are render, tile, prompt, decode, ladder, weights (including those of the orientation model), the line reader,
    and a text layer that replaces a reading; not device, dtype, encoder, paths, batch size or version. Where pages are
    read line by line, tile, decode and retry steps count as by default unless a step has whole pages read.
    weights_sha256: from ocr.model_files.fingerprint. config: from `resolved`, so that no page is read again for which
    `auto` means the same as before.
    """
    from ocr.model_files.fingerprint import (
        orientation_sha256,  # numpy and the hub's client, which few commands need
        structure_sha256,
    )

    config = _with_ngrams(_acting(config), DEEPSEEK)  # those of a resolved configuration are known
    sections = {name: getattr(config, name) for name in ("render", "tile", "decode", "ladder")}
    settings = {
        name: section.model_dump(mode="json", exclude=set(section.operational))
        for name, section in sections.items()
    }
    settings["tile"] |= _GONE_TILE
    settings["decode"] |= _GONE_DECODE
    if config.decode.pages_per_prompt == 1:  # a key that came later counts only where it is used
        del settings["decode"]["pages_per_prompt"]
    for rung in settings["ladder"]["rungs"]:  # keys that came later count only where they are used
        for key in ("model", "below"):
            if rung[key] is None:
                del rung[key]
        rung["parts"] = rung["reader"] = None
    # Only where it replaces a reading: with `compare` pages are read as with `ignore`.
    layer = {"text_layer": config.text_layer} if config.text_layer in TAKEN_FIRST | TAKEN_LAST else {}
    lines = {"reader": "lines", "structure": structure_sha256()} if config.reader == "lines" else {}
    video = {"video": True} if config.ingest.video else {}
    turns = {"orientation": orientation_sha256()} if config.render.orientation == "auto" else {}
    text = json.dumps(
        {**settings, **layer, **lines, **video, **turns, "weights": weights_sha256}, sort_keys=True
    )
    return hashlib.sha256(text.encode()).hexdigest()


def _acting(config: Config) -> Config:
    """Returns the configuration with what the line reader does not look at as it is by default."""
    rungs = config.ladder.rungs
    if config.reader != "lines" or any(rung.model for rung in rungs):
        return config
    idle = [rung for rung in DEFAULT_RETRY_STEPS if not _changes_lines(rung)]
    ladder = config.ladder.model_copy(update={"rungs": [*idle, *filter(_changes_lines, rungs)]})
    return config.model_copy(update={"tile": TileConfig(), "decode": DecodeConfig(), "ladder": ladder})


def _changes_lines(rung: RetryStepConfig) -> bool:
    return rung.text_layer or rung.dpi is not None


def ingest_settings(config: Config, passwords: tuple[str, ...] = ()) -> IngestSettings:
    """Returns the workers' settings for input files. passwords: from pipeline.config.passwords."""
    ingest = config.ingest
    return IngestSettings(
        include=tuple(ingest.include),
        exclude=tuple(ingest.exclude),
        max_image_pixels=ingest.max_image_pixels,
        passwords=passwords,
        video=ingest.video,
        video_folders=tuple(ingest.video_folders),
        manifest=ingest.manifest,
        spool=ingest.spool,
        spool_bytes=ingest.spool_mb << 20,
        object_timeout_s=ingest.object_timeout_s,
    )


def own_files(config: Config) -> list[str]:
    """Returns the files and folders that belong to the run itself, which are never inputs."""
    files = (
        config.store.database,
        config.run.log_file,
        config.run.summary_file,
        config.run.pdf_to,
        config.run.move_to,
        config.ingest.password_file,
        config.ingest.manifest,
    )
    return [file for file in files if file is not None]


def render_settings(config: Config, passwords: tuple[str, ...] = ()) -> RenderSettings:
    """Returns the workers' settings for rendering. passwords: from pipeline.config.passwords."""
    return RenderSettings(
        dpi=config.render.dpi,
        max_image_pixels=config.ingest.max_image_pixels,
        orientation=config.render.orientation,
        passwords=passwords,
        text_layer=layer_use(config),
    )


def layer_use(config: Config) -> LayerUse:
    """Returns how text layers are used: "auto" becomes "fallback" for a page model, which reads more than text.

    The line reader reads less surely than a PDF has its text. Raises: CheckpointError.
    """
    return "fallback" if config.text_layer == "auto" and not reads_lines(config) else config.text_layer


def resolved(config: Config) -> Config:
    """Returns the configuration with `auto` resolved for its model: text_layer and reader. Raises: CheckpointError."""
    reader = "lines" if reads_lines(config) else "page"
    return completed(config).model_copy(update={"text_layer": layer_use(config), "reader": reader})


def other_models(config: Config) -> tuple[str, ...]:
    """Returns the models that retry steps name, each once."""
    return tuple(dict.fromkeys(rung.model for rung in config.ladder.rungs if rung.model is not None))


def with_model(config: Config, model: str) -> Config:
    """Returns the configuration for a retry step's model: whole pages, the model's own prompt."""
    return config.model_copy(
        update={
            "model": model,
            "model_entry": None,
            "reader": "page",
            "decode": config.decode.model_copy(update={"prompt": None, "pages_per_prompt": 1}),
        }
    )


def models_sha256(config: Config) -> tuple[str, str]:
    """Returns the sha256 of the configured model's files, and that of all models that a reading may depend on.

    Raises: CheckpointError, also for a retry step's model that reads no pages.
    """
    for name in other_models(config):
        reads_lines(with_model(config, name))
    own = model_sha256(config.model, config.model_entry)
    others = [model_sha256(name) for name in other_models(config)]
    return own, hashlib.sha256("".join((own, *others)).encode()).hexdigest() if others else own


def completed(config: Config) -> Config:
    """Returns the configuration with the n-grams of its model's family where the user sets none.

    Raises: CheckpointError.
    """
    if reads_lines(config):  # which writes no tokens
        return _with_ngrams(config, DEEPSEEK)
    return _with_ngrams(config, *described(config.model, config.model_entry))


def _with_ngrams(config: Config, family: Family, facts: ModelFacts | None = None) -> Config:
    kinds: dict[Kind, NgramConfig] = {"pdf": config.decode.pdf, "image": config.decode.image}
    known: dict[str, NgramConfig] = {
        kind: NgramConfig(
            size=family.ngram(kind, facts)[0] if own.size is None else own.size,
            window=own.window or family.ngram(kind, facts)[1],
        )
        for kind, own in kinds.items()
    }
    return config.model_copy(update={"decode": config.decode.model_copy(update=known)})


def reads_lines(config: Config) -> bool:
    """Returns whether pages are read line by line first. Raises: CheckpointError for a reader that the model is not."""
    is_by_lines = has_lines(directory := find_directory(config.model))
    if is_by_lines and config.reader == "page":
        raise lacking(directory, "config.json")
    if config.reader == "lines" and not is_by_lines:
        raise CheckpointError(
            f"model {config.model!r} is no line reader; use reader: auto, or leave model out"
        )
    return is_by_lines


def check_ranks(config: Config) -> None:
    """Raises: ConfigError where `encoder_parallel` cannot act beside other settings; CheckpointError."""
    if config.cluster.num_ranks == 1:
        return
    key = f"cluster.encoder_parallel: {config.cluster.num_ranks}"
    if config.device == "cpu":
        raise ConfigError(f"{key}: device is cpu; use device: cuda, or leave encoder_parallel out")
    if config.cluster.address is not None or config.cluster.workers not in (None, 1):
        raise ConfigError(f"{key}: workers have a GPU each; leave cluster.workers and address out, or this")
    if reads_lines(config):
        raise ConfigError(
            f"{key}: lines are read on one GPU; name a page model (--model), or leave encoder_parallel out"
        )


def check_pages(config: Config) -> None:
    """Raises: ConfigError where `pages_per_prompt` cannot act; CheckpointError."""
    if config.decode.pages_per_prompt == 1:
        return
    key = f"decode.pages_per_prompt: {config.decode.pages_per_prompt}"
    if reads_lines(config):
        raise ConfigError(
            f"{key}: lines are read page by page; name a page model (--model), or leave pages_per_prompt out"
        )
    if (family := family_of(find_directory(config.model))).several is None:
        others = ", ".join(its.name for its in FAMILIES if its.several is not None)
        raise ConfigError(
            f"{key}: model {config.model!r} ({family.name}) takes one picture in a prompt; use one of {others}, or "
            "leave pages_per_prompt out"
        )


def tile_mode(config: Config) -> Mode | None:
    """Returns the mode of the pages' views; None for lines and for views of a model's own. Raises: CheckpointError."""
    if reads_lines(config):
        return None
    directory = find_directory(config.model)
    return None if family_of(directory).view_maker(directory) is not None else config.tile.mode


def tile_settings(config: Config) -> TileSettings:
    """Returns the workers' settings for tiles, or for the line reader. Raises: CheckpointError."""
    is_by_lines, directory = reads_lines(config), find_directory(config.model)
    family = None if is_by_lines else family_of(directory)
    video = family.video_maker(directory) if config.ingest.video and family is not None else None
    if config.ingest.video and video is None:
        raise CheckpointError(
            f"ingest.video is on, but model {config.model!r} reads no videos; use Qwen-VL or MiniCPM-V 2.6 or later"
        )
    if family is None:
        return TileSettings(lines=True)
    if (views := family.view_maker(directory)) is not None:
        if family.several is not None and config.decode.pages_per_prompt > 1:
            views = family.several(views)
        return TileSettings(views=views, video=video, words=config.words)
    return TileSettings(mode=config.tile.mode, max_tiles=config.tile.max_tiles, words=config.words)
