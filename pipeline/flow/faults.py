"""What an error in the model's computation means for the pages that were in it."""

from pipeline.errors import DeviceLostError
from pipeline.types import PageError

# What PyTorch's allocators say, on a GPU and on a CPU.
_NO_MEMORY = ("out of memory", "not enough memory")


def page_error(stage: str, error: Exception) -> PageError:
    """Returns the page's failure. Raises: DeviceLostError where no further page could be read either."""
    message = " ".join(f"{type(error).__name__}: {error}".split())[:500]
    if isinstance(error, MemoryError) or any(words in message for words in _NO_MEMORY):
        return PageError(stage=stage, category="out_of_memory", message=message)
    if "CUDA error" in message:
        raise DeviceLostError(
            f"the GPU cannot go on: {message}; finished pages are stored, run again to read the others"
        ) from error
    return PageError(stage=stage, category="internal", message=message)
