"""4xx: tensors, devices and dtypes. A file a pitfall, named as its page."""
