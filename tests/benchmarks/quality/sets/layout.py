"""How the evaluation's sets lie in their folder, and the error of all that builds or measures them."""

MANIFEST = "manifest.json"
TRUTH = "truth"  # TRUTH/<picture>/1.txt is a page's text
HANDWRITING = "handwriting"  # the category of pages that no reader of print can read


class QualityError(RuntimeError):
    """The evaluation set cannot be built or measured; the message says what to do."""
