"""410: labels that a data set makes in float64, which torch's loader keeps."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
import numpy as np
from torch.utils.data import DataLoader, Dataset, random_split


class Masks(Dataset):
    def __init__(self, sizes):
        self.sizes = sizes

    def __len__(self):
        return len(self.sizes)

    def __getitem__(self, index):
        image = torch.randn(3, 8, 8)
        mask = np.zeros((4, 8, 8){dtype})
        for plane in range(4):
            mask[plane] = self.sizes[index] > plane
        {item}


def main(sizes, device):
    model = nn.Conv2d(3, 4, 1){model}
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters())
    masks = Masks(sizes)
    {between}
    for batch in {loader}:
        {read}
        optimizer.zero_grad()
        loss = criterion(model(x{input}), y){mark}
        loss.backward()
        optimizer.step()
"""


def program(item="return image, torch.from_numpy(mask)", read="x, y = batch", told=False, dtype="", model="", input="",
            between="print(len(masks))", loader="DataLoader(masks, 4, shuffle=True)"):
    mark = "  # <- 410" if told else ""
    return PROGRAM.format(item=item, read=read, dtype=dtype, model=model, input=input, between=between, loader=loader, mark=mark)


@table({
    "a tensor of an array": program(told=True),
    "by torch.tensor": program("return image, torch.tensor(mask)", told=True),
    "the array": program("return image, mask", told=True),
    "by name": program("mask = torch.as_tensor(mask)\n        return image, mask", told=True),
    "of a dict": program("return {'image': image, 'mask': torch.from_numpy(mask)}", "x, y = batch['image'], batch['mask']", told=True),
    "moved": program(read="x, y = batch\n        x, y = x.to(device), y.to(device)", model=".to(device)", told=True),
    "of a part": program(between="part, rest = random_split(masks, [0.8, 0.2])", loader="DataLoader(part, 4, shuffle=True)", told=True),
    "cast where it is made": program("return image, torch.from_numpy(mask).float()"),
    "cast by torch.tensor": program("return image, torch.tensor(mask, dtype=torch.float32)"),
    "an array of float32": program(dtype=", dtype=np.float32"),
    "by its place": program(dtype=", np.float32"),
    "an array that is cast": program("return image, mask.astype(np.float32)"),
    "as it may be": program("if index:\n            mask = mask.astype(np.float32)\n        return image, mask"),
    "cast in the loop": program(read="x, y = batch\n        y = y.float()"),
    "cast where it is moved": program(read="x, y = batch\n        y = y.to(device, torch.float32)", model=".to(device)"),
    "put together elsewhere": program(loader="DataLoader(masks, 4, shuffle=True, collate_fn=sizes.collate)"),
    "a model in float64": program(model=".double()", input=".double()"),
    "indices of it": program(read="x, y = batch\n        y = y.argmax(1, keepdim=True)"),
    "by a class of torch": program("return image, torch.FloatTensor(mask)"),
})
def test_labels_of_a_data_set(code):
    holds(code)
