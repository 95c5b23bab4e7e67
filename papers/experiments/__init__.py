"""One file per experiment, each with one ``EXPERIMENT``."""
