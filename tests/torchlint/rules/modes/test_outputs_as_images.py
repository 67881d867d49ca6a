"""202 where torchvision's transforms make images of what a model gives: nothing goes backward in them."""

from tests.torchlint.dryrun.support import holds, table

PICTURES = """
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.transforms.functional import to_pil_image
{imports}

def show(image, path):
    {draw}

def main(test_set: torch.utils.data.Dataset):
    model = torch.load("model.pt", weights_only=False)
    model.eval()
    for x, paths in DataLoader(test_set, batch_size=8):
        images = model(x){mark}
        for image, path in zip(images, paths):
            show(image.cpu(), path)
"""
TOLD = "  # <- 202"


@table({
    "an object of torchvision": PICTURES.format(
        imports="", draw="to_pil = transforms.ToPILImage()\n    to_pil(image).convert('RGB').save(path)", mark=TOLD),
    "a function of torchvision": PICTURES.format(imports="", draw="to_pil_image(image).save(path)", mark=TOLD),
    "an object of somebody": PICTURES.format(imports="from elsewhere import Attack", draw="attack = Attack()\n    attack(image).save(path)", mark=""),
    "a function of somebody": PICTURES.format(imports="from elsewhere import perturb", draw="perturb(image).save(path)", mark=""),
})
def test_images_of_outputs(code):
    holds(code)
