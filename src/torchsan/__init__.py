"""torchsan: finds the mistakes that ruin PyTorch training, in the live run, while it trains."""

__version__ = "0.1.0"
