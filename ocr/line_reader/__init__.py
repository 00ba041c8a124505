"""The line reader; see README.md. ONNX Runtime of some versions reports on itself to its maker unless it is told not to."""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read as it is imported, which happens below here alone
