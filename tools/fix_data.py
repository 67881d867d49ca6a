"""Small data in the formats that programs read: for fix_execute.py, which runs them where nothing can be downloaded."""

from __future__ import annotations

import io
import random
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path


def mnist(folder: Path, images: int = 64) -> None:
    """The files of MNIST with random digits, as torchvision lays them out."""
    raw = folder / "MNIST" / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    chance = random.Random(0)
    for name in ("train", "t10k"):
        pixels, labels = chance.randbytes(images * 28 * 28), bytes(i % 10 for i in range(images))
        (raw / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, images, 28, 28) + pixels)
        (raw / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, images) + labels)


def pictures(folder: Path, count: int = 4, side: int = 300) -> None:
    """Coloured noise as JPEG files."""
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(str(folder.name))
    for number in range(count):
        coarse = Image.frombytes("RGB", (8, 8), chance.randbytes(192))
        coarse.resize((side, side)).save(folder / f"{number}.jpg")


def classes(folder: Path) -> None:
    """Pictures of two classes, for training and validation, as torchvision's ImageFolder reads them."""
    for part in ("train", "val"):
        for name in ("one", "two"):
            pictures(folder / part / name)


def words(folder: Path, lines: int = 120) -> None:
    """Three texts of few words."""
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(0)
    some = [f"word{number}" for number in range(40)]
    for name in ("train", "valid", "test"):
        text = "".join(" ".join(chance.choices(some, k=12)) + "\n" for _ in range(lines))
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")


def citations(file: Path, papers: int = 1400) -> None:
    """A graph of papers that cite one another, packed as Cora is: `cora.content` and `cora.cites`."""
    chance = random.Random(0)
    topics = [f"Topic_{number}" for number in range(7)]
    content = "".join(
        "\t".join([str(paper), *(str(int(chance.random() < 0.02)) for _ in range(60)), chance.choice(topics)]) + "\n"
        for paper in range(papers)
    )
    cites = "".join(f"{chance.randrange(papers)}\t{chance.randrange(papers)}\n" for _ in range(4 * papers))
    with tarfile.open(file, "w:gz") as pack:
        for name, text in (("cora.content", content), ("cora.cites", cites)):
            info = tarfile.TarInfo(f"cora/{name}")
            info.size = len(text)
            pack.addfile(info, io.BytesIO(text.encode()))


KINDS: dict[str, Callable[[Path], None]] = {
    "mnist": mnist, "pictures": pictures, "classes": classes, "words": words, "citations": citations,
}
