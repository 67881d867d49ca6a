"""7xx: mixed precision."""
