"""Where the user's classes make the layers of a model."""

from __future__ import annotations

from torch import nn

from torchsan.own import torch
from torchsan.program.source import assigned, users_class
from torchsan.program.where import Where


def line_that_builds(modules: list[nn.Module], parameter: torch.Tensor) -> Where | None:
    """The line in which the user's class makes the layer that a parameter belongs to."""
    for root in modules:
        for part in root.modules():
            if users_class(part) is not None:
                inside = ((name, value) for table in (part._modules, part._parameters) for name, value in table.items())
                for name, value in inside:
                    held = value.parameters() if isinstance(value, nn.Module) and users_class(value) is None else (value,)
                    if any(one is parameter for one in held):
                        return assigned(part, name)
    return None
