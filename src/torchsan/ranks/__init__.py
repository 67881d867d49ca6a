"""Several processes, one report."""
