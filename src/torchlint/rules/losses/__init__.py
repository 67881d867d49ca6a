"""3xx: losses and metrics. A file a pitfall, named as its page."""
