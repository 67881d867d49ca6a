"""The table of what transformers and accelerate take, against those that are installed."""

import importlib
import inspect

import pytest

from torchlint.catalogue.hosted import gone_by, gone_names, hosted


@pytest.mark.parametrize("name", sorted(hosted().keywords))
def test_the_installed_release_takes_what_the_table_says(name):
    package, _, short = name.rpartition(".")
    module = pytest.importorskip(package, reason=f"{package} is not installed")
    release = ".".join(module.__version__.split(".")[:2])
    if release != hosted().releases[package][-1]:
        pytest.skip(f"the table ends with another release than {release}")
    takes = set(inspect.signature(getattr(importlib.import_module(package), short)).parameters)
    for word, span in hosted().keywords[name].items():
        assert (word in takes) == (gone_by(package, span) is None), word
        assert not span.instead or span.instead in takes, word


def test_gone_names_are_gone():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    release = tuple(map(int, transformers.__version__.split(".")[:2]))
    for name, gone in gone_names().items():
        if release >= tuple(map(int, gone.by.split("."))):
            assert not hasattr(transformers, name.rpartition(".")[2]), name
