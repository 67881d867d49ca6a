"""For Ignite: `san = torchsan.ignite.attach(trainer, model, optimizer)`."""

from torchsan.integrations.ignite import attach

__all__ = ["attach"]
