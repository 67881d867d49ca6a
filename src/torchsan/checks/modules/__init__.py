"""5xx: modules and layers. 505 is also seen by `modes/dropout_in_eval.py`, 506 by `gradients/parameters.py`."""
