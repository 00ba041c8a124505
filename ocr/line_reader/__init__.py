"""The line reader; see README.md. Some versions of ONNX Runtime report to their maker unless they are told not to."""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read as it is imported, which happens below here alone
