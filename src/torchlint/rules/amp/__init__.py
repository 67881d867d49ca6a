"""7xx: mixed precision. A file a pitfall, named as its page."""
