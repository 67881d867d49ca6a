"""1xx: gradients, optimizers and schedulers. 121 is seen by `tensors/nonfinite.py`, which finds where a NaN comes from."""
