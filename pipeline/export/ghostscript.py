"""Has Ghostscript write a PDF's pages anew, with what PDF/A needs: fonts within the file, colours as RGB."""

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

_MEMORY_BYTES = 4 << 30
# Pictures are not made worse: they stay JPEG, or are stored without loss.
_OPTIONS = (
    *("-dSAFER", "-dBATCH", "-dNOPAUSE", "-dQUIET", "-sDEVICE=pdfwrite", "-dPDFA=2"),
    *("-dPDFACompatibilityPolicy=1", "-dAutoRotatePages=/None", "-sColorConversionStrategy=RGB"),
    *("-dEmbedAllFonts=true", "-dPassThroughJPEGImages=true", "-dDownsampleColorImages=false"),
    *("-dDownsampleGrayImages=false", "-dDownsampleMonoImages=false", "-dAutoFilterColorImages=false"),
    *("-dAutoFilterGrayImages=false", "-dColorImageFilter=/FlateEncode", "-dGrayImageFilter=/FlateEncode"),
)


def is_there() -> bool:
    """Returns whether Ghostscript is installed."""
    return shutil.which("gs") is not None


def rewritten(data: bytes, limit_s: float) -> bytes | None:
    """Returns the PDF as Ghostscript writes it, in a process of its own; None where it fails or takes longer."""
    with TemporaryDirectory() as folder:
        before, after = Path(folder, "before.pdf"), Path(folder, "after.pdf")
        before.write_bytes(data)
        command = ["gs", *_OPTIONS, f"-sOutputFile={after}", str(before)]
        try:
            with subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ) as process:
                try:
                    _limit(process.pid)
                    code = process.wait(limit_s)
                finally:
                    process.kill()
            return after.read_bytes() if code == 0 else None
        except (OSError, subprocess.TimeoutExpired):
            return None


def _limit(pid: int) -> None:
    """Limits the process's memory: the file is not trusted, and may grow without end."""
    if sys.platform == "linux":
        import resource

        resource.prlimit(pid, resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
