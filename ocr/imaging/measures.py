"""The thresholds that several finders of ink, lines and columns share; those of one finder alone stand beside it.

Units are the field's: levels of grey, heights of small letters (x-heights), type sizes, shares. Pixels only where
pixels limit what can be seen.
"""

from dataclasses import dataclass

# Levels of grey, of 255.
NOISE_LEVELS = 12  # up to this is grain and JPEG noise; with less, clean scans have ink everywhere
PRINT_LEVELS = 24  # print that differs less from its paper is not legible; with more, faded receipts are lost
DARK_LEVELS = 40  # so much darker than the poorest paper is no shadow of a fold or of a scanner's lid

# Type sizes: from the descenders' foot to the ascenders' top, which is where boxes end.
ASCENT, DESCENT = 0.77, 0.23
ONE_ROW = 0.5  # baselines nearer than this are of one row; those of lines are 1 apart at least
WORD_GAP = 0.4  # white up to this is between words; with less, justified lines fall into cells


@dataclass(frozen=True, slots=True, kw_only=True)
class InkLimits:
    """How print is told from paper by its contrast.

    blur_cells: radius over which the paper's shade is averaged, in cells of 8 px; shadows narrower than that are ink.
    share: the least contrast of print, of that of the darkest print; bleed-through from the back is fainter.
    percentile: of the pixels that stand out, that which is the darkest print; higher ones are blots.
    step: every how many pixels, across and down, these are counted. num_samples: about how many are sorted.
    """

    blur_cells: int
    share: float
    percentile: float
    step: int
    num_samples: int


PAGE_INK = InkLimits(blur_cells=3, share=0.25, percentile=90, step=1, num_samples=100_000)
# Of pages at a smaller size. The network that tells which way up a page is was trained on pieces made with these.
ORIENTATION_INK = InkLimits(blur_cells=2, share=0.3, percentile=95, step=2, num_samples=20_000)
