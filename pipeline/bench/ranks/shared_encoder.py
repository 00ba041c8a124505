"""Encodes pages on one rank, or spread over all of them by their units."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from torch import Tensor

from encoders.graphs.parallel import assign, encode_shared
from encoders.graphs.path import Unit
from encoders.views import PageViews
from encoders.vision_encoder import PageEncoder, VisionEncoder
from pipeline.bench.encoding.encoder_arms import ManagedArm

Outputs = Mapping[str, Tensor]
# The path's name and a unit of it; "" and a page's views where an encoder takes pages whole.
Piece = tuple[str, Unit | PageViews]


@dataclass(frozen=True, slots=True)
class _Work:
    """The pieces of pages' work, path by path, on each page by page. counts: of each page, by path."""

    pieces: Sequence[Piece]
    counts: Mapping[str, Sequence[int]]


class SharedEncoder:
    """An arm's encoder whose work ranks share. Every rank has one of the same weights, and is given the same pages.

    The work is a page's units, such as tiles or slices; whole pages of an encoder that forms none.
    """

    def __init__(self, encoder: PageEncoder, arm: ManagedArm) -> None:
        self._encoder, self._arm = encoder, arm

    def alone(self, pages: Sequence[PageViews]) -> list[Tensor]:
        """Returns the pages' tokens, [T, D] each, in order, all encoded on this rank."""
        work = self._work(pages)
        return self._tokens(pages, work, self._encode(work.pieces))

    def shared(self, pages: Sequence[PageViews]) -> list[Tensor]:
        """Returns the pages' tokens, [T, D] each, in order, on every rank; each encodes its share of the work."""
        work = self._work(pages)
        found = encode_shared(work.pieces, _sizes(work), self._encode, self._encoder.device)
        return self._tokens(pages, work, found)

    def shares(self, pages: Sequence[PageViews], ranks: int) -> list[int]:
        """Returns how many pieces of the pages' work each rank gets."""
        return [len(share) for share in assign(_sizes(self._work(pages)), ranks)]

    def _work(self, pages: Sequence[PageViews]) -> _Work:
        if not isinstance(self._encoder, VisionEncoder):
            return _Work([("", page) for page in pages], {})
        units = {path: self._encoder.units(path, pages) for path in self._encoder.path_names}
        return _Work(
            [(path, unit) for path, found in units.items() for page in found for unit in page],
            {path: [len(page) for page in found] for path, found in units.items()},
        )

    def _encode(self, pieces: Sequence[Piece]) -> list[Outputs]:
        """Returns the outputs of each piece, in order."""
        if not isinstance(self._encoder, VisionEncoder):
            pages = [views for _, views in pieces if isinstance(views, PageViews)]
            return [{"tokens": tokens} for tokens in self._arm.encode(pages)] if pages else []
        by_path: dict[str, list[Unit]] = {}
        for path, unit in pieces:
            assert isinstance(unit, Unit), "an encoder with units"
            by_path.setdefault(path, []).append(unit)
        encoded = {path: iter(found) for path, found in self._arm.manager.encode(by_path).items()}
        return [next(encoded[path]).outputs for path, _ in pieces]

    def _tokens(self, pages: Sequence[PageViews], work: _Work, outputs: Sequence[Outputs]) -> list[Tensor]:
        if not isinstance(self._encoder, VisionEncoder):
            return [output["tokens"] for output in outputs]
        found = iter(outputs)
        grouped = {
            path: [list(islice(found, count)) for count in counts] for path, counts in work.counts.items()
        }
        return [page.tokens_TD for page in self._encoder.assemble(pages, grouped)]


def _sizes(work: _Work) -> list[int]:
    """Returns the bytes of each piece, the measure of its work."""
    return [_num_bytes(piece) for _, piece in work.pieces]


def _num_bytes(piece: Unit | PageViews) -> int:
    if isinstance(piece, Unit):
        return sum(tensor.nbytes for tensor in piece.inputs.values())
    return int(piece.global_view.nbytes + piece.local_views.nbytes)
