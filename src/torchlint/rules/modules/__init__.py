"""5xx: modules and layers. A file a pitfall, named as its page."""
