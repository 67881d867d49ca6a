"""What is read of a tree that nobody trusts: which files, their text, notebooks, comments that silence."""
