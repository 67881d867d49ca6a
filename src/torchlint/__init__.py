"""torchlint: finds the mistakes that ruin PyTorch training, in the source, before it starts."""

__version__ = "0.1.0"
