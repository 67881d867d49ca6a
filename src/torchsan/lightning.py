"""For Lightning: `Trainer(callbacks=[torchsan.lightning.Callback()])`."""

from torchsan.integrations.lightning import Callback

__all__ = ["Callback"]
