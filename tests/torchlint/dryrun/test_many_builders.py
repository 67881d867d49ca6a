"""A short program that builds very many models, one for each choice of an option, is judged whole: what it has seen is not run again."""

from tests.torchlint.dryrun.support import engine

PAD = "\n".join(f"        {'if' if i == 0 else 'elif'} pad == 'p{i}':\n            self.pad = nn.ReflectionPad2d(padding)" for i in range(3))
ACT = "\n".join(f"        {'if' if i == 0 else 'elif'} act == 'a{i}':\n            self.act = nn.LeakyReLU(0.{i + 1})" for i in range(6))
LAYER = f"""
import torch.nn as nn


class Layer(nn.Module):
    def __init__(self, inputs, outputs, size, stride=1, padding=0, pad='p2', act='a5'):
        super().__init__()
{PAD}
{ACT}
        self.norm = nn.BatchNorm2d(outputs)
        self.conv = nn.Conv2d(inputs, outputs, size, stride, bias=False)

    def forward(self, x):
        return self.act(self.norm(self.conv(self.pad(x))))


class Block(nn.Module):
    def __init__(self, inputs, planes, stride=1):
        super().__init__()
        self.first = Layer(inputs, planes, 1, stride)
        self.second = Layer(planes, planes, 3, 1, 1)
        self.third = Layer(planes, planes * 4, 1)
        self.shorter = Layer(inputs, planes * 4, 1, stride)

    def forward(self, x):
        return self.third(self.second(self.first(x))) + self.shorter(x)


class Net(nn.Module):
    def __init__(self, sizes, inputs, classes):
        super().__init__()
        self.begin = Layer(inputs, 64, 7)
        self.planes = 64
        self.one, self.two = self.stage(64, sizes[0]), self.stage(128, sizes[1])
        self.three, self.four = self.stage(256, sizes[2]), self.stage(512, sizes[3])
        self.scores = nn.Linear(2048, classes)

    def stage(self, planes, blocks):
        layers = [Block(self.planes, planes, 2)]
        self.planes = planes * 4
        for _ in range(1, blocks):
            layers.append(Block(self.planes, planes))
        return nn.Sequential(*layers)

    def forward(self, x):
        return self.scores(self.four(self.three(self.two(self.one(self.begin(x))))).mean((2, 3)))


def create(opt):
"""


def text(kinds):
    choices = "".join(
        f"    if opt.kind == 'k{kind}':\n"
        + "".join(f"        if opt.task == '{task}':\n            net = Net([{kind}, 4, 6, 3], {inputs}, 1000)\n" for task, inputs in (("gray", 1), ("rgb", 3)))
        for kind in range(2, 2 + kinds)
    )
    return LAYER + choices + "    return net\n"


def test_many_models_of_one_function():
    assert engine().check("builders.py", text(kinds=20)).in_part is None
