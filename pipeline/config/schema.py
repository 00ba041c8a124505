"""Configuration: one model a stage, composed here, mirroring the YAML. Where values come from is in
pipeline.config.sources.
"""

import hashlib
import json
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from ocr.imaging.tiling import MODES, Mode
from ocr.model_files.locate import find_directory, read_json
from pipeline.config.encoder_section import EncoderConfig
from pipeline.config.ladder_section import LadderConfig
from pipeline.config.page_selection import parse_pages
from pipeline.config.section import Section
from pipeline.documents.settings import IngestSettings, RenderSettings, TileSettings
from pipeline.types import TAKEN_FIRST, TAKEN_LAST, LayerUse


class IngestConfig(Section):
    """Which files and pages are read."""

    paths: list[str] = Field(default_factory=list)
    include: list[str] = Field(default_factory=list)
    exclude: list[str] = Field(default_factory=list)
    pages: str | None = None
    max_pages_per_document: int | None = Field(default=None, ge=1)
    max_image_pixels: int = Field(default=200_000_000, ge=1)
    probe_timeout_s: float = Field(default=120.0, gt=0)
    password_env: str | None = None
    password_file: str | None = None

    @field_validator("include", "exclude", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        """A single text stands for a list of it, as in --set ingest.exclude=drafts."""
        return [value] if isinstance(value, str) else value

    @field_validator("pages")
    @classmethod
    def _pages_parse(cls, pages: str | None) -> str | None:
        if pages is not None:
            parse_pages(pages)
        return pages


class RenderConfig(Section):
    """How a page becomes pixels."""

    dpi: float | None = Field(default=None, gt=0, le=2400)
    orientation: Literal["auto", "off"] = "auto"
    workers: int | None = Field(default=None, ge=1)
    page_timeout_s: float = Field(default=60.0, gt=0)
    worker_memory_mb: int = Field(default=4096, ge=256)
    operational: ClassVar[frozenset[str]] = frozenset({"workers", "page_timeout_s", "worker_memory_mb"})

    @field_validator("orientation", mode="before")
    @classmethod
    def _yaml_switch(cls, orientation: Any) -> Any:
        """YAML reads a bare off as false."""
        return "off" if orientation is False else orientation


class TileConfig(Section):
    """How pixels become the encoder's views."""

    mode: Mode = "gundam"
    max_tiles: int = Field(default=6, ge=2, le=9)
    parts: Literal["auto", "on", "off"] = "auto"
    retry_below: float = Field(default=0.9, ge=0, le=1)

    @field_validator("parts", mode="before")
    @classmethod
    def _yaml_switch(cls, parts: Any) -> Any:
        """YAML reads a bare on or off as true or false."""
        return {True: "on", False: "off"}[parts] if isinstance(parts, bool) else parts


class NgramConfig(Section):
    """A sequence of `size` tokens never occurs twice within the last `window` tokens; size 0 allows all."""

    size: int = Field(default=20, ge=0)
    window: int = Field(default=50, ge=1)

    @field_validator("size")
    @classmethod
    def _size_is_a_sequence(cls, size: int) -> int:
        if size == 1:
            raise ValueError("a sequence has at least 2 tokens; 0 switches this off")
        return size


class ImageNgramConfig(NgramConfig):
    """The same for image files, with upstream's other defaults."""

    size: int = Field(default=30, ge=0)
    window: int = Field(default=90, ge=1)


class LoopConfig(Section):
    """A page that ends in one sequence of at most `period` tokens over and over is stopped as repeated.

    At least `repeats` times, and over at least `tokens` tokens; tokens 0 switches this off. So is a page of
    whose last 1,024 tokens less than `variety` of the 4-grams are distinct.
    """

    tokens: int = Field(default=768, ge=0)
    repeats: int = Field(default=4, ge=2)
    period: int = Field(default=1024, ge=1)
    variety: float = Field(default=0.05, ge=0, lt=1)


class LengthConfig(Section):
    """A model with a character head is held to the number of characters that it sees on the page.

    An end before `min_share` of them is refused; a page with more than `max_share` times as many is stopped as
    repeated. 0 switches either off.
    """

    min_share: float = Field(default=0.85, ge=0, le=1)
    max_share: float = Field(default=1.5, ge=0)

    @field_validator("max_share")
    @classmethod
    def _room_for_the_page(cls, share: float) -> float:
        if 0 < share < 1:
            raise ValueError("a page may be as long as it is; 0 switches this off")
        return share


class DecodeConfig(Section):
    """How the language model reads a page. drafts: None drafts where it is faster, on a CPU."""

    prompt: str | None = None
    batch_size: int | None = Field(default=None, ge=1)
    max_tokens: int = Field(default=8192, ge=1, le=8192)
    pdf: NgramConfig = NgramConfig()
    image: ImageNgramConfig = ImageNgramConfig()
    loop: LoopConfig = LoopConfig()
    length: LengthConfig = LengthConfig()
    drafts: bool | None = None
    operational: ClassVar[frozenset[str]] = frozenset({"batch_size", "drafts"})

    @field_validator("prompt")
    @classmethod
    def _prompt_has_image(cls, prompt: str | None) -> str | None:
        if prompt is not None and prompt.count("<image>") != 1:
            raise ValueError("write <image> exactly once, where the page belongs")
        return prompt


class StoreConfig(Section):
    """Where results go."""

    database: str = "ocrbatch.db"
    attempt_limit: int = Field(default=3, ge=1)
    low_confidence: float = Field(default=0.8, ge=0, le=1)
    doubtful_below: float | None = Field(default=None, ge=0, le=1)


class RunConfig(Section):
    """Limits of a run as a whole."""

    force: bool = False
    retry_failed: bool = False
    inflight_mb: int | None = Field(default=None, ge=16)
    replicas: int | None = Field(default=None, ge=1, le=16)
    time_limit_s: float | None = Field(default=None, gt=0)
    log_file: str | None = None
    log_max_mb: int = Field(default=10, ge=1)
    summary_file: str | None = None


class Config(Section):
    """Everything `ocrbatch run` can be told."""

    model: str = "small"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    threads: int | None = Field(default=None, ge=1)
    text_layer: LayerUse = "auto"
    ingest: IngestConfig = IngestConfig()
    render: RenderConfig = RenderConfig()
    tile: TileConfig = TileConfig()
    encoder: EncoderConfig = EncoderConfig()
    decode: DecodeConfig = DecodeConfig()
    ladder: LadderConfig = LadderConfig()
    store: StoreConfig = StoreConfig()
    run: RunConfig = RunConfig()

    @model_validator(mode="before")
    @classmethod
    def _empty_section(cls, values: Any) -> Any:
        """A section whose keys are all commented out is null in YAML: the defaults."""
        if not isinstance(values, dict):
            return values
        return {k: v for k, v in values.items() if v is not None or k not in cls.model_fields}


def settings_hash(config: Config, weights_sha256: str) -> str:
    """Returns the sha256 of everything that decides a page's text.

    Render, tile, prompt, decode, ladder, weights (those that find out which way up a page stands included) and a text
    layer that stands in for a reading; not device, dtype, encoder, paths, batch size or version. weights_sha256: of
    ocr.model_files.fingerprint. config: of `resolved`, so that no page is read again whose model means the same by
    `auto`.
    """
    from ocr.model_files.fingerprint import (
        orientation_sha256,  # numpy and the hub's client, which few commands need
    )

    sections = {name: getattr(config, name) for name in ("render", "tile", "decode", "ladder")}
    settings = {
        name: section.model_dump(mode="json", exclude=set(section.operational))
        for name, section in sections.items()
    }
    # Only where it stands in for a reading: with `compare` pages are read as with `ignore`.
    layer = {"text_layer": config.text_layer} if config.text_layer in TAKEN_FIRST | TAKEN_LAST else {}
    turns = {"orientation": orientation_sha256()} if config.render.orientation == "auto" else {}
    text = json.dumps({**settings, **layer, **turns, "weights": weights_sha256}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def ingest_settings(config: Config, passwords: tuple[str, ...] = ()) -> IngestSettings:
    """Returns what workers are told about files. passwords: of pipeline.config.passwords."""
    ingest = config.ingest
    return IngestSettings(
        include=tuple(ingest.include),
        exclude=tuple(ingest.exclude),
        max_image_pixels=ingest.max_image_pixels,
        passwords=passwords,
    )


def own_files(config: Config) -> list[str]:
    """Returns the files that belong to the run itself: no inputs, wherever they lie."""
    files = (config.store.database, config.run.log_file, config.run.summary_file, config.ingest.password_file)
    return [file for file in files if file is not None]


def render_settings(config: Config, passwords: tuple[str, ...] = ()) -> RenderSettings:
    """Returns what workers are told about rendering. passwords: of pipeline.config.passwords."""
    return RenderSettings(
        dpi=config.render.dpi,
        max_image_pixels=config.ingest.max_image_pixels,
        orientation=config.render.orientation,
        passwords=passwords,
        text_layer=layer_use(config),
    )


def layer_use(config: Config) -> LayerUse:
    """Returns what is done with text layers: "auto" is "fallback" for a model that reads more of a page than its text.

    Those with a character head, as the shipped one, read the text alone, and not as surely as a PDF holds it; others
    give a page's structure as well, which no layer has in full. Raises: CheckpointError.
    """
    is_auto = config.text_layer == "auto"
    return "fallback" if is_auto and not _has_character_head(config.model) else config.text_layer


def resolved(config: Config) -> Config:
    """Returns the configuration with what `auto` means for this model's text layers. Raises: CheckpointError."""
    return config.model_copy(update={"text_layer": layer_use(config)})


def tile_settings(config: Config) -> TileSettings:
    """Returns what workers are told about tiles. Raises: CheckpointError."""
    return TileSettings(mode=config.tile.mode, max_tiles=config.tile.max_tiles, parts=_reads_parts(config))


def _reads_parts(config: Config) -> bool:
    """Whether dense pages are read in parts; only with tiles are parts larger than they were on the page."""
    if config.tile.parts == "off" or not MODES[config.tile.mode].crop:
        return False
    # Models with a character head are as small as the shipped one; the published checkpoint reads a page whole.
    return config.tile.parts == "on" or _has_character_head(config.model)


def _has_character_head(model: str) -> bool:
    ours = read_json(find_directory(model) / "config.json").get("ocrbatch")
    return isinstance(ours, dict) and ours.get("character_head") is not None
