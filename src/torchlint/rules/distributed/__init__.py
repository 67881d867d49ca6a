"""8xx: several processes and devices. A file a pitfall, named as its page."""
