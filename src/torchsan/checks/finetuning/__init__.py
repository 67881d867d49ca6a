"""0xx: fine-tuning and hosted trainers. 012 is also told of an error by `raised/errors.py`."""
