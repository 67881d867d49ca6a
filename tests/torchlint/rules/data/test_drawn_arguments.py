"""613 of data sets whose items hand what they draw to what turns or cuts them."""

from tests.torchlint.dryrun.support import holds, table

CLOUDS = """
import random
import numpy as np
from torch.utils.data import DataLoader, Dataset

class Clouds(Dataset):
    def __init__(self, files, train):
        self.files, self.train = files, train

    def __len__(self):
        return len(self.files)

    def {does}(self, points, angle):
        turned = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        return points @ turned

    def __getitem__(self, index):
        points = np.load(self.files[index])
        {item}
        return torch.from_numpy(points)

def main(files):
    train_loader = DataLoader(Clouds(files[:900], train=True), batch_size=8, shuffle=True)
    val_set = Clouds(files[900:], train=False){mark}
    val_loader = DataLoader(val_set, batch_size=8)
    return train_loader, val_loader
"""
TOLD = "  # <- 613"


@table({
    "a name": CLOUDS.format(does="rotate", item="angle = np.random.rand() * 6.3\n        points = self.rotate(points, angle)", mark=TOLD),
    "the draw itself": CLOUDS.format(does="rotate", item="points = self.rotate(points, random.uniform(0, 6.3))", mark=TOLD),
    "in training only": CLOUDS.format(
        does="rotate", item="if self.train:\n            points = self.rotate(points, random.uniform(0, 6.3))", mark=""),
    "drawn in training only": CLOUDS.format(
        does="rotate", item="angle = 0.0\n        if self.train:\n            angle = random.uniform(0, 6.3)\n        points = self.rotate(points, angle)",
        mark=""),
    "an angle that stands": CLOUDS.format(does="rotate", item="points = self.rotate(points, 0.5)", mark=""),
    "something else is drawn": CLOUDS.format(
        does="rotate", item="other = random.choice(self.files)\n        points = self.rotate(points, 0.5)", mark=""),
    "a method that does something else": CLOUDS.format(does="look_up", item="points = self.look_up(points, random.random())", mark=""),
})
def test_what_turns_is_given_a_draw(code):
    holds(code)
