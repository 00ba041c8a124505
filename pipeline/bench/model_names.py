"""Defines the name of the model with random weights, and how many tokens it writes. Torch-free."""

RANDOM = "random"


RANDOM_OUTPUT_TOKENS = 1000
