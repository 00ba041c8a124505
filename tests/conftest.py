"""What holds for all tests. It comes before anything that computes is imported."""

import os

# Tests run side by side, a process for each CPU (`pytest -n auto`): threads of their own would be in each other's way.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
