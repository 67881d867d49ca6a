"""401 of tensors that a helper gives several times."""

from tests.torchlint.dryrun.support import holds


def test_the_tensors_that_a_helper_gives_are_known_each_time_it_is_called():
    holds(
        """
class Cell(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.sizes = sizes

    def begin(self, n):
        rows = n * 2 + 1 - n - 1
        return torch.zeros(rows, 8), torch.zeros(rows, 8)

def go(x):
    cell = Cell(3)
    one, two = cell.begin(4), cell.begin(4)
    third = cell.begin(4)
    third[0].numpy()
    return third[1].cuda() @ torch.zeros(8, 3)  # <- 401
"""
    )
