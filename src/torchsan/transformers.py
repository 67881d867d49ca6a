"""For transformers: `Trainer(..., callbacks=[torchsan.transformers.Callback()])`."""

from torchsan.integrations.transformers import Callback

__all__ = ["Callback"]
