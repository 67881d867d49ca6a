"""3xx: losses and metrics. 301 to 303 are judged by `forms/traits.py`; 319 also by `gradients/nothing_learned.py`."""
