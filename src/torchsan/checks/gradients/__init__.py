"""1xx: gradients, optimizers and schedulers."""
