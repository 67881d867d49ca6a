"""What events tell of pitfalls: one file per check or family; each lists its classes in `CHECKS`."""
