"""The name of the model with random weights, and how much it writes. Torch-free."""

RANDOM = "random"


RANDOM_OUTPUT_TOKENS = 1000
