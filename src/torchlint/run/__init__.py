"""Many files, judged once: processes, the cache, one file at a time."""
