"""A published model as a run uses it: transformers' class and processor behind the interface of a PageModel."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer
from torch import Tensor

from encoders.graphs.manager import EncoderGraphManager
from encoders.graphs.settings import GraphSettings
from encoders.views import PageViews
from ocr.decoding.requests import PageRequest
from ocr.families.generation.generate_engine import GeneratingModel, PromptedPage
from ocr.families.published.navit_pages import NavitPages, navit_encoder
from ocr.families.published.page_inputs import PageInputs, Prompting, together
from ocr.families.published.processed_pages import ProcessedPages
from ocr.families.published.published_models import PublishedModel
from ocr.families.published.tiled_pages import TiledPages, tiled_encoder
from ocr.imaging.tiling import Mode
from ocr.types import OutputFormat


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublishedReader(GeneratingModel):
    """Implements ocr.families.page_model.PageModel.

    model, processor: transformers'. prompt: the text that goes with a page, as given.
    """

    name: str
    known: PublishedModel
    model: Any
    processor: Any
    prompt: str

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizers library's own, which decodes without transformers' rules."""
        tokenizer: Tokenizer = self.processor.tokenizer.backend_tokenizer
        return tokenizer

    @property
    def output_format(self) -> OutputFormat:
        return self.known.format_for(self.prompt)

    @property
    def writer(self) -> Any:
        return self.model

    @property
    def eos_ids(self) -> frozenset[int]:
        """The tokens that end a text, of the generation's configuration and of the table where these are tokens."""
        listed = self.model.generation_config.eos_token_id
        own = [listed] if isinstance(listed, int) else list(listed or [])
        stops = (self.tokenizer.token_to_id(text) for text in self.known.stop)
        ids = frozenset([*own, *(token for token in stops if token is not None)])
        return ids or frozenset({self.processor.tokenizer.eos_token_id})

    @property
    def pad_id(self) -> int:
        own: int | None = self.processor.tokenizer.pad_token_id
        return min(self.eos_ids) if own is None else own

    def vision_encoder(self, mode: Mode) -> ProcessedPages:
        """Returns our own encoder over the model's weights where there is one, else its own class's."""
        if (navit := navit_encoder(self.model, self.processor)) is not None:
            return NavitPages(self.model, self._prompting(), navit)
        if (tiled := tiled_encoder(self.model, self.processor)) is not None:
            return TiledPages(self.model, self._prompting(), tiled)
        return ProcessedPages(self.model, self._prompting())

    def reference_features(self, pages: Sequence[PageViews]) -> list[Tensor]:
        """Returns the pages' vision tokens as the model's own class computes them, one page at a time."""
        plain = ProcessedPages(self.model, self._prompting())
        nothing = EncoderGraphManager(plain.paths, GraphSettings(graphs="off"), plain.device)
        outputs, _ = plain.encode(nothing, "image", pages)
        return [page.tokens_TD for page in plain.assemble(pages, {"image": outputs})]

    def _prompting(self) -> Prompting:
        prompt = self.prompt if self.prompt != self.known.prompts["page"] else None
        return Prompting(self.processor, self.known, prompt)

    def prompted(self, request: PageRequest) -> PromptedPage:
        """Returns a page with its PageInputs, which were made with its vision tokens."""
        inputs = request.vision.note
        assert isinstance(inputs, PageInputs), "pages of this model were encoded by it"
        return PromptedPage(request=request, prompt=inputs, num_tokens=inputs.num_tokens)

    def inputs(self, pages: Sequence[PromptedPage]) -> dict[str, Any]:
        """Returns generate's arguments for pages together, padded on the left."""
        return together([page.prompt for page in pages], self.pad_id)
