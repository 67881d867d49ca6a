"""The user's lines, names and objects."""
