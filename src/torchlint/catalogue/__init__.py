"""The rule pages and the words that they are written in: what both tools know of pitfalls."""
