"""9xx: saving, loading and compiling."""
