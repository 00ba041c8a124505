"""Pages in a script that the model was not trained for: what it makes of them is no text. Torch-free."""

from pipeline.documents.script import foreign_script
from pipeline.types import EmbeddedPage, PageResult, ReadyPage

# ISO 15924 for a script that is not determined.
UNDETERMINED = "Zyyy"
# The shipped model reads Cyrillic, Greek, Armenian, Georgian, Arabic, Devanagari, Thai, Chinese, Japanese and Korean
# with a confidence of 0.03 to 0.3: character head and text do not agree at all. Of 303 pictures of pages in Latin
# script, a third of them worn like scans, none has less than 0.6.
_CONFIDENCE = 0.4
# What the character head sees may say so too, of fewer characters; but it alone would flag tables of figures.
DOUBTED = 0.5
# Of a few characters, such as a drawing's, nothing can be said.
_ENOUGH_MARKS = 200


def script_flag(ready: ReadyPage, result: PageResult, known: frozenset[str] | None) -> str | None:
    """Returns the ISO 15924 code of the script that a page is in where the model cannot read it, None where it can.

    known: the model's scripts, as pipeline.documents.script.known_scripts gives them; None for a model that reads any,
    which flags nothing. By the page's text layer where it has one. A scan whose reading is not to be believed at all
    is Zyyy, as is one in doubt of which the character head saw no text either (pipeline.stages.decode), and a page
    whose layer
    was judged and cannot be trusted: in an unknown script, as a rule, or in handwriting. A page whose text layer is its
    text was not read: no flag.
    """
    if known is None or isinstance(ready, EmbeddedPage) or result.source == "layer":
        return None
    foreign = foreign_script(ready.script, known)
    if foreign is not None:
        return foreign
    says_known = ready.script is not None and (ready.layer is None or ready.layer.is_trustworthy)
    return UNDETERMINED if not says_known and (result.script is not None or _is_unread(result)) else None


def _is_unread(result: PageResult) -> bool:
    if result.confidence is None or result.parsed is None:
        return False
    num_marks = len("".join(result.parsed.text.split()))
    return num_marks >= _ENOUGH_MARKS and result.confidence < _CONFIDENCE
