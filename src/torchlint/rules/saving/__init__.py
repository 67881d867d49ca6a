"""9xx: saving, loading, reproducing, compiling, and what torch has removed. A file a pitfall, named as its page."""
