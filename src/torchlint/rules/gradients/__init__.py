"""1xx: gradients, optimizers and schedulers. A file a pitfall, named as its page."""
