"""Pitfalls that torch raises an error for: which one an error tells of."""
