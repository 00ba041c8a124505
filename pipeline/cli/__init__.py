import os

# NumPy's OpenBLAS keeps a thread for each CPU in each process, which spin while they wait: on 16 CPUs a letter took
# 14.6 CPU seconds instead of 3.2. It reads this when it is loaded, so it stands before all that the commands import.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
