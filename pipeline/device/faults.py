"""Classifies errors of the model's computation: what they mean for the pages in it, for the run, and while loading."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from pipeline.device.tickets import Ticket
from pipeline.errors import DeviceLostError, DeviceUnusableError, ModelMemoryError, PipelineError
from pipeline.outcome.results import failed_result, render_timings
from pipeline.types import PageResult
from storage.types import PageError

# Messages of PyTorch's allocators, on a GPU and on a CPU, and of the system where files are mapped.
_NO_MEMORY = ("out of memory", "not enough memory", "Cannot allocate memory")
# PyTorch's words for any CUDA error, and CUDA's own messages, as repeated by Triton, after which nothing works.
_LOST = (
    "CUDA error",
    "an illegal memory access was encountered",
    "an illegal instruction was encountered",
    "misaligned address",
    "unspecified launch failure",
    "device-side assert",
)


def page_error(stage: str, error: Exception) -> PageError:
    """Returns the error as the page's failure. Raises: DeviceLostError where no further page could be read either."""
    message = _in_a_line(error)
    if _is_of_memory(error):
        return PageError(stage=stage, category="out_of_memory", message=message)
    if _says(error, _LOST):
        raise DeviceLostError(
            f"the GPU cannot go on: {message}; finished pages are stored, run again to read the others"
        ) from error
    return PageError(stage=stage, category="internal", message=message)


@contextmanager
def before_any_page() -> Iterator[None]:
    """Translates the errors of a block that uses the device before any page does, so that no page is blamed for them.

    Raises: ModelMemoryError, DeviceUnusableError, and other errors as they are.
    """
    try:
        yield
    except PipelineError:
        raise
    except Exception as error:
        if _is_of_memory(error):
            raise ModelMemoryError(_no_room_message(_in_a_line(error))) from error
        if _says(error, _LOST):
            raise DeviceUnusableError(
                f"the GPU cannot be used: {_in_a_line(error)}; look at it with nvidia-smi and run again, "
                "or set device: cpu"
            ) from error
        raise


def lost_pages(error: BaseException, held: Mapping[str, Sequence[Ticket]]) -> dict[Ticket, PageError]:
    """Returns the failures of the pages that were being computed when an error ended the model's threads.

    held: the pages by stage. CUDA reports an error to whichever thread asks next, so any of them may be the cause.
    Empty where the error shows that no page is to blame, such as a wrong configuration.
    """
    is_lost = isinstance(error, DeviceLostError)
    if isinstance(error, DeviceUnusableError) or (isinstance(error, PipelineError) and not is_lost):
        return {}
    category = "device_lost" if is_lost else "model_ended"  # storage.types.LOST_CATEGORIES
    num_pages = sum(map(len, held.values()))
    beside = f", with {num_pages - 1} others" if num_pages > 1 else ""
    cause = _in_a_line(error.__cause__ or error)
    what = "the GPU was lost" if is_lost else "the model's computation ended"
    message = f"{what} while this page was in it{beside}: {cause}"
    return {
        ticket: PageError(stage=stage, category=category, message=message)
        for stage, tickets in held.items()
        for ticket in tickets
    }


def failed_pages(lost: Mapping[Ticket, PageError]) -> list[PageResult]:
    """Returns a failed result for each of these pages that has no outcome yet."""
    return [
        failed_result(ticket.rendered.page, error, ticket.timings or render_timings(ticket.rendered.seconds))
        for ticket, error in lost.items()
        if ticket.outcome.cancelled() or not ticket.outcome.done()
    ]


def _is_of_memory(error: BaseException) -> bool:
    return isinstance(error, MemoryError) or _says(error, _NO_MEMORY)


def _says(error: BaseException, words: Sequence[str]) -> bool:
    message = _in_a_line(error)
    return any(part in message for part in words)


def _in_a_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:500]


def _no_room_message(message: str) -> str:
    if "CUDA" in message:
        return (
            f"the model does not fit into the GPU's memory: {message}; stop whatever else uses the GPU (nvidia-smi "
            "shows it), or set dtype: bfloat16, a smaller model, or device: cpu"
        )
    return (
        f"the model does not fit into memory: {message}; end other programs, set a smaller model, or lower "
        "render.workers and run.inflight_mb"
    )
