"""A published document model as a run uses it: transformers' class and processor, no code of the model's own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from transformers import CONFIG_MAPPING

from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.settings import GraphSettings
from encoders.views import PageViews
from encoders.vision_encoder import PageEncoder
from ocr.decoding.requests import PageRequest
from ocr.families.catalogue.known_model import known_model
from ocr.families.family import Loading
from ocr.families.generation.generate_engine import PromptedPage, TransformersReader
from ocr.families.generation.transformers_loading import load_class, reader_fields, refusals
from ocr.families.published.page_encoders import OwnEncoderPages, ProcessedPages, own_encoder
from ocr.families.published.processors import PageInputs, Prompting, load_processor, together
from ocr.imaging.tiling import Mode


def load(asked: Loading) -> "PublishedReader":
    """Returns the model. Raises: CheckpointError for files that are missing or that these classes cannot load."""
    facts = asked.facts()
    known = known_model(facts).model
    with refusals(asked.directory, known.model_type):
        # Not AutoConfig: what config.json names may be another class, which would leave parts at random.
        raw = {**facts.config, "model_type": known.model_type}
        model = load_class(asked, CONFIG_MAPPING[known.model_type].from_dict(raw))
        processor = load_processor(asked.directory)
    words = processor.tokenizer
    # The tokenizers library's own, which decodes without transformers' rules.
    fields = reader_fields(
        asked, known, model, words.backend_tokenizer, pad_id=words.pad_token_id, end_id=words.eos_token_id
    )
    own_prompt = fields["prompt"] == known.prompts["page"]
    prompting = Prompting(processor, known, None if own_prompt else asked.prompt)
    return PublishedReader(**fields, processor=processor, prompting=prompting)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublishedReader(TransformersReader):
    """processor: transformers'. prompting: makes a page's inputs with it."""

    processor: Any
    prompting: Prompting

    def vision_encoder(self, mode: Mode) -> PageEncoder:
        """Returns our own encoder over the model's weights where there is one, else its own class's."""
        own = own_encoder(self.model, self.processor)
        return self._plain() if own is None else OwnEncoderPages(self._plain(), own)

    def reference_features(self, pages: Sequence[PageViews]) -> list[Tensor]:
        """Returns the pages' vision tokens as the model's own class computes them, one page at a time."""
        plain = self._plain()
        nothing = EncoderGraphManager(plain.paths, GraphSettings(graphs="off"), plain.device)
        outputs, _ = plain.encode(nothing, "image", [plain.prepared(page) for page in pages])
        return [page.tokens_TD for page in plain.assemble(pages, {"image": outputs})]

    def _plain(self) -> ProcessedPages:
        return ProcessedPages(self.model, self.prompting)

    def prompted(self, request: PageRequest) -> PromptedPage:
        """Returns a page with its PageInputs, which were made with its vision tokens."""
        inputs = request.only.note
        assert isinstance(inputs, PageInputs), "pages of this model were encoded by it"
        return PromptedPage(request=request, prompt=inputs, num_tokens=inputs.num_tokens)

    def inputs(self, pages: Sequence[PromptedPage]) -> dict[str, Any]:
        return together([page.prompt for page in pages], self.pad_id)
