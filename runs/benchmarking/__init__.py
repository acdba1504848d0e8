"""Measures the real path (run, workers, database) on parts of its own, in a folder of its own."""
