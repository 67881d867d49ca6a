"""The parts of tools/fuzz.py: what is tried, and what is expected of it."""
