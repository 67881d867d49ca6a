"""4xx: tensors, devices, dtypes and memory."""
