"""For Accelerate: `with torchsan.accelerate.watch(accelerator) as san:` after `accelerator.prepare(...)`."""

from torchsan.integrations.accelerate import watch

__all__ = ["watch"]
