"""8xx: several processes and devices. 815 is seen by `gradients/replaced_parameters.py`."""
