"""What tells that torch.compile looks at the program."""

from __future__ import annotations

import torch

from torchsan.program import compiled


def test_the_flag_is_the_one_that_torch_reads(monkeypatch):
    monkeypatch.setattr(torch.compiler, "_is_compiling_flag", True)
    assert torch.compiler.is_compiling() and compiled.compiler._is_compiling_flag


def test_a_torch_without_the_flag_is_asked(monkeypatch):
    asked = compiled._Asked()
    assert not asked._is_compiling_flag
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert asked._is_compiling_flag
