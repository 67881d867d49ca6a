"""The pytest plug-in. Loaded by its entry point in every suite, so importing it must not import torch."""

from __future__ import annotations
