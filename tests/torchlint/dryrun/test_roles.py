"""What unseen code makes is known by what it is given, by what is done with it, and last by what it is called."""

import pytest

from .support import events, holds, runs, table

LOOP = """
    for x, y in loader:
        F.cross_entropy(model(x), y).backward()  # <- 101
        {name}.step()
"""


@pytest.mark.parametrize("made", [
    "optimizer = hydra.utils.instantiate(cfg.optimizer, model.parameters())",
    "optimizer = hydra.utils.instantiate(cfg.optimizer, params=model.parameters())",
    "optimizer = getattr(torch.optim, cfg.name)(model.parameters(), lr=0.1)",
    "optimizer = build(cfg, [{'params': model.parameters(), 'lr': 0.1}])",
    "optimizer = cfg.make_optimizer(filter(lambda p: p.requires_grad, model.parameters()))",
    "optimizer = OPTIMIZERS[cfg.name](model.parameters())",
    "optimizer = cfg.build_optimizer(model)",
])
def test_an_optimizer_of_unseen_code(made):
    holds(f"import hydra\nfrom settings import OPTIMIZERS, build\ndef main(model: nn.Module, loader, cfg):\n    {made}\n" + LOOP.format(name="optimizer"))


def test_one_without_a_telling_name_is_known_by_what_is_done_with_it():
    holds('''
from lion import Lion
def main(model: nn.Module, loader):
    it = Lion(model.parameters())
    it.zero_grad()
''' + LOOP.format(name="it"))


@table({
    "an average of the weights": '''
from settings import EMA
def main(model: nn.Module, loader):
    ema = EMA(model.parameters(), 0.999)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()
        ema.step(model.parameters())
''',
    "a norm": '''
from settings import grad_norm
def main(model: nn.Module, loader):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        norm = grad_norm(model.parameters())
        opt.step()
''',
    "what is wrapped around an optimizer may clear by itself": '''
from settings import Noam
def main(model: nn.Module, loader):
    opt = Noam(torch.optim.Adam(model.parameters()), 512)
    for x, y in loader:
        F.cross_entropy(model(x), y).backward()
        opt.step()
''',
})
def test_what_is_given_parameters_is_not_always_an_optimizer(code):
    holds(code)


@pytest.mark.parametrize("around", ["progress(loader)", "ui.progress_bar(loader, 20)", "enumerate_bar(loader)", "track(loader, 'epoch')"])
def test_what_shows_progress_passes_the_items_on(around):
    run = runs(f"from settings import enumerate_bar, progress, track, ui\nfrom torch.utils.data import DataLoader\n"
               f"def main(data):\n    loader = DataLoader(data)\n    for x in {around}:\n        print(x)\n")[-1]
    passes = events(run, "loader.iterate")
    assert [event.subject.kind for event in passes] == ["loader"]


@table({
    "a writer's scalars": '''
from settings import writer
from torch.amp import GradScaler
def main(model: nn.Module, loader):
    scaler = GradScaler("cuda")
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        opt.zero_grad()
        with torch.autocast("cuda"):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        writer.add_scalar("loss", loss.item())
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # <- 703
        scaler.step(opt)
        scaler.update()
''',
    "what is given the scaler": '''
from settings import clip
from torch.amp import GradScaler
def main(model: nn.Module, loader):
    scaler = GradScaler("cuda")
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        opt.zero_grad()
        with torch.autocast("cuda"):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        clip(scaler, opt)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
''',
})
def test_a_call_does_something_to_what_it_is_given(code):
    holds(code)
