"""2xx: training and evaluation mode. A file a pitfall, named as its page."""
