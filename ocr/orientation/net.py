"""A small network in numpy that says whether a piece of a page is a line of text, and which way up.

It sees every piece twice, as it is and upside down, with the same weights: its verdicts on a page and on the
same page turned by 180 degrees are opposites by construction, so it has no bias to either.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file

Floats = npt.NDArray[np.float32]

WEIGHTS = Path(__file__).parents[1] / "weights" / "orientation" / "model.safetensors"
# Height and width of the two convolutions' kernels, and their strides down and across.
FIRST, SECOND = (5, 5, 1, 2), (4, 4, 2, 2)


@dataclass(frozen=True, slots=True)
class Net:
    """The network's weights. first: [25, A], second: [16 A, B], column: [5 B, C], out: [C, 2], each with its bias."""

    weights: Mapping[str, Floats]

    def log_odds(self, pieces: Floats) -> Floats:
        """Returns [N, 3] log-probabilities: text upright, text upside down, no level text.

        pieces: [N, PIECE_HEIGHT, PIECE_WIDTH], ink 1 and paper 0.
        """
        if not len(pieces):
            return np.zeros((0, 3), dtype=np.float32)
        both = self._outputs(np.concatenate([pieces, pieces[:, ::-1, ::-1]]))
        here, turned = both[: len(pieces)], both[len(pieces) :]
        scores = np.stack([here[:, 0], turned[:, 0], here[:, 1] + turned[:, 1]], axis=1)
        scores = scores - scores.max(axis=1, keepdims=True)
        log_probabilities: Floats = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return log_probabilities

    def _outputs(self, pieces: Floats) -> Floats:
        """Returns the scores of upright text and of no text, [N, 2]."""
        x = self._layer("first", _patches(pieces[..., None], FIRST))
        x = self._layer("second", _patches(x, SECOND))
        num, height, width, channels = x.shape
        columns = np.ascontiguousarray(x.transpose(0, 2, 1, 3)).reshape(num, width, height * channels)
        pooled = self._layer("column", columns).mean(axis=1)
        outputs: Floats = pooled @ self.weights["out.weight"] + self.weights["out.bias"]
        return outputs

    def _layer(self, name: str, x: Floats) -> Floats:
        weight = self.weights[f"{name}.weight"]
        y = x.reshape(-1, len(weight)) @ weight + self.weights[f"{name}.bias"]
        rectified: Floats = np.clip(y, 0, None, out=y).reshape(*x.shape[:-1], -1)
        return rectified


@cache
def shipped() -> Net:
    """Returns the network that comes with the package."""
    return Net({name: value.astype(np.float32) for name, value in load_file(WEIGHTS).items()})


def _patches(x: Floats, kernel: tuple[int, int, int, int]) -> Floats:
    """Returns the input of a convolution at each place, [N, H', W', high * wide * C]."""
    high, wide, down, across = kernel
    seen = np.lib.stride_tricks.sliding_window_view(x, (high, wide), axis=(1, 2))[:, ::down, ::across]
    patches: Floats = np.ascontiguousarray(seen.transpose(0, 1, 2, 4, 5, 3))
    return patches.reshape(*patches.shape[:3], -1)
