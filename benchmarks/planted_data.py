"""Data made up for the programs of `planted.toml`: small, of the right form, and with something in them to be learned."""

from __future__ import annotations

import pickle
import random
import struct
from pathlib import Path

import numpy as np

DIGITS = {"train": 1024, "t10k": 256}


def words(folder: Path) -> None:
    """Text for a language model: each word mostly decides the next."""
    draw = random.Random(0)
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in (("train", 400), ("valid", 60), ("test", 60)):
        rows = []
        for _ in range(lines):
            word, row = draw.randrange(60), []
            for _ in range(12):
                word = (word * 7 + 3) % 60 if draw.random() < 0.8 else draw.randrange(60)
                row.append(f"w{word}")
            rows.append(" ".join(row))
        (folder / f"{name}.txt").write_text(" \n".join(rows) + " \n", encoding="utf-8")


def names(folder: Path) -> None:
    """Names, one a line."""
    draw = random.Random(0)
    rows = ("".join(draw.choice(part) for part in ("bdklmnrst", "aeiou") * draw.randint(1, 3)) for _ in range(300))
    (folder / "names.txt").write_text("\n".join(rows), encoding="utf-8")


def tokens(folder: Path) -> None:
    """Numbers of tokens as nanoGPT keeps them."""
    folder.mkdir(parents=True, exist_ok=True)
    made = np.random.default_rng(0)
    for name, size in (("train", 4000), ("val", 800)):
        row = np.cumsum(made.choice([1, 3, 5], size, p=[0.8, 0.1, 0.1])) % 60
        row.astype(np.uint16).tofile(folder / f"{name}.bin")
    (folder / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": 60}))


def digits(folder: Path, parts: int = 1) -> None:
    """Ten patterns with noise, in the files of MNIST."""
    raw = folder / "MNIST" / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    made = np.random.default_rng(0)
    patterns = np.zeros((10, 28, 28))
    patterns[:, 4:24, 4:24] = np.kron(made.random((10, 5, 5)) > 0.5, np.ones((4, 4)))
    for name, size in DIGITS.items():
        size //= parts
        labels = made.integers(0, 10, size)
        noise = made.normal(0, 20, (size, 28, 28))
        pixels = np.clip(patterns[labels] * 200 + noise, 0, 255).astype(np.uint8)
        (raw / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">4i", 2051, size, 28, 28) + pixels.tobytes())
        (raw / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">2i", 2049, size) + labels.astype(np.uint8).tobytes())


def few_digits(folder: Path) -> None:
    """A quarter of them, for programs that take long."""
    digits(folder, 4)


def papers(folder: Path) -> None:
    """A graph of papers that cite papers of their own kind, in the files of Cora."""
    folder.mkdir(parents=True, exist_ok=True)
    made = np.random.default_rng(0)
    size, kinds = 600, 7
    labels = made.integers(0, kinds, size)
    features = (made.random((size, 70)) < 0.05) | ((np.arange(70) // 10 == labels[:, None]) & (made.random((size, 70)) < 0.3))
    features[:, 0] = True
    rows = (f"{i} {' '.join(str(int(one)) for one in features[i])} kind{labels[i]}" for i in range(size))
    (folder / "cora.content").write_text("\n".join(rows) + "\n", encoding="utf-8")
    cites = []
    for one in range(size):
        alike = np.flatnonzero(labels == labels[one])
        cites += [f"{one} {other}" for other in made.choice(alike[alike != one], 3, replace=False)]
    (folder / "cora.cites").write_text("\n".join(cites) + "\n", encoding="utf-8")


def waves(folder: Path) -> None:
    """Sine waves of float64."""
    import torch

    start = np.random.default_rng(2).integers(-80, 80, (12, 1))
    torch.save(np.sin((np.arange(60) + start) / 20.0).astype("float64"), folder / "traindata.pt")


def pictures(folder: Path) -> None:
    """Pictures of soft stripes, for training and for test."""
    from PIL import Image

    made = np.random.default_rng(0)
    for part, size in (("train", 12), ("test", 4)):
        (folder / part).mkdir(parents=True, exist_ok=True)
        for at in range(size):
            across, down = np.meshgrid(np.arange(256), np.arange(256))
            waves = [np.sin((across * a + down * b) / 20) for a, b in made.normal(0, 1, (3, 2))]
            pixels = (np.stack(waves, 2) * 120 + 127).astype(np.uint8)
            Image.fromarray(pixels).save(folder / part / f"{at}.png")


def masks(folder: Path) -> None:
    """Pictures with a bright square in each, and where it is."""
    from PIL import Image

    made = np.random.default_rng(0)
    for part in ("imgs", "masks"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    for at in range(20):
        mask = np.zeros((32, 32), np.uint8)
        row, column = made.integers(0, 16, 2)
        mask[row : row + 12, column : column + 12] = 1
        pixels = np.clip(mask[..., None] * 120 + made.normal(60, 20, (32, 32, 3)), 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / "imgs" / f"{at}.png")
        Image.fromarray(mask * 255).save(folder / "masks" / f"{at}.png")


DATA = {made.__name__: made for made in (words, names, tokens, digits, few_digits, papers, waves, pictures, masks)}
