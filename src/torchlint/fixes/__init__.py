"""Mends files: the edits that findings carry, applied and taken back."""
