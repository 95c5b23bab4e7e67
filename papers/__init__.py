"""The papers' experiments, run again: ``python -m papers``."""
