"""Torch's own errors, told better: the operands, their lines, the mend."""
