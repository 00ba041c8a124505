"""The thresholds that several finders of ink, lines and columns share; those of one finder alone stand beside it.

Units are the field's: levels of grey, heights of small letters (x-heights), type sizes, shares. Pixels only where
pixels limit what can be seen.
"""

from dataclasses import dataclass

# Levels of grey, of 255.
NOISE_LEVELS = 12  # up to this is grain and JPEG noise; with less, clean scans have ink everywhere
PRINT_LEVELS = 24  # print that differs less from its paper is not legible; with more, faded receipts are lost
DARK_LEVELS = 40  # so much darker than the poorest paper is no shadow of a fold or of a scanner's lid

# Pixels.
DUST_PX = 1  # up to this much ink in a row is dust; with more, the dot of a line's only i is lost
MIN_X_HEIGHT_PX = 3  # lower runs of rows are no letters: 4 pt at 150 dpi has 4
MIN_GUTTER_PX = 3  # narrower white is between letters, however small they are

# x-heights.
# The highest line: capitals and descenders make 2.2, accents, exponents and a slight slant the rest. Higher rows of
# print are several lines that touch, or a picture.
HIGHEST_LINE = 4.5
LOWEST_MARK = 0.8  # lower rows of print are an accent, a dot or the foot of a letter
OPEN_GUTTER = 1.2  # what is left of a gutter into which a word sticks out; less is a wide word space
CELLS_APART = 2.2  # white between cells of a row, and between a table and the text; in lines it is less
PARAGRAPH_WHITE = 1.8  # white between paragraphs, and above a heading, is as high; between lines it is less
FURNITURE_WHITE = 5.0  # from the text to header and page number; headings stand nearer
LETTER_WIDTH = 0.68  # the inked pixel columns of a letter, which is as wide as high with the white beside it

# Type sizes: from the descenders' foot to the ascenders' top, which is where boxes end.
ASCENT, DESCENT = 0.77, 0.23
ONE_ROW = 0.5  # baselines nearer than this are of one row; those of lines are 1 apart at least
WORD_GAP = 0.4  # white up to this is between words; with less, justified lines fall into cells

# Cells of the character head, 4 px wide. Word spaces are no wider, in justified text too.
WORD_GAP_CELLS = 8


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


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterRows:
    """How a line of text looks in an upright strip a few letters wide: a run of rows with much ink.

    reach_px: how far up and down the fullest row is searched for: over a line's pitch, so that an empty row has none.
    dense: the share of the fullest row's ink from which a row is one of small letters; ascenders' rows have less.
    least: the share of the strip's width that must have ink at all.
    min_px, max_px: the x-height. between_halves: the share of the fullest row's ink between the two halves of figures
    and capitals, which are joined if they are nearer than `apart` of the taller one's height; None joins none.
    """

    reach_px: int
    dense: float
    least: float
    min_px: int = MIN_X_HEIGHT_PX
    max_px: int = 64
    apart: float = 1.2
    between_halves: float | None = None


PAGE_ROWS = LetterRows(reach_px=25, dense=0.38, least=0.04, between_halves=0.18)
# Of pages at a smaller size, coarser and several times faster; again those that the network was trained with. As dense
# rows as these would make x-heights differ on nearly all pages, and the crops of three in ten.
ORIENTATION_ROWS = LetterRows(reach_px=15, dense=0.4, least=0.05)
