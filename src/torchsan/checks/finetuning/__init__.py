"""0xx: fine-tuning and hosted trainers. 003 is judged by `modules/next_token.py`, 004 also by `gradients/parameters.py`; 012 is also
told of an error by `raised/errors.py`."""
