"""202 of a function that another file of the project calls: it may have switched gradients off, or frozen the model."""

import pytest

from torchlint.api import check

ENGINE = """import torch


def freeze(model):
    model.requires_grad_(False)


def evaluate(model, loader):
    model.eval()
    hits = 0
    for x, y in loader:
        hits += (model(x).argmax(1) == y).sum().item()
    return hits


def predict_features(model, images, features):
    for index, image in enumerate(images):
        features[index] = model(image).detach().cpu().numpy()
"""
OFF = """import torch
from engine import evaluate
from torchvision.models import resnet18


def main(loader):
    model = resnet18()
    with torch.no_grad():
        print(evaluate(model, loader))
"""
ON = """import torch
from engine import evaluate
from torchvision.models import resnet18


def main(loader):
    print(evaluate(resnet18(), loader))
"""
FROZEN = """import engine
from torchvision.models import resnet18


def main(images, features):
    model = resnet18()
    engine.freeze(model)
    engine.predict_features(model, images, features)
"""
NOT_AT_HAND = """import torch
import engine
from nets import make_model


def main(loader, images, features):
    with torch.inference_mode():
        engine.evaluate(make_model(), loader)
        engine.predict_features(make_model(), images, features)
"""
OTHERS = """import torch
import engine


@torch.no_grad()
def average(tensors):
    return engine.freeze(sum(tensors))
"""
EVALUATE, PREDICT = 12, 18


@pytest.mark.parametrize(("user", "rows"), [
    ("", [EVALUATE, PREDICT]),
    (OFF, [PREDICT]),
    (ON, [EVALUATE, PREDICT]),
    (FROZEN, [EVALUATE]),
    (NOT_AT_HAND, []),
    (OTHERS, [EVALUATE, PREDICT]),
])
def test_who_calls_it(tmp_path, user, rows):
    (tmp_path / "pyproject.toml").write_text("")
    engine, train = tmp_path / "engine.py", tmp_path / "train.py"
    engine.write_text(ENGINE)
    train.write_text(user)
    found = [finding for finding in check([engine, train], select=["TL202"]) if finding.location.filename == str(engine)]
    assert sorted(finding.location.row for finding in found) == rows
