"""401: a model that was moved is given what torchvision has made of an image, which is on the CPU."""

from tests.torchlint.dryrun.support import holds, table

HEAD = """
from PIL import Image
from torchvision import datasets, models, transforms
from torchvision.transforms import functional as TF

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = models.resnet18(num_classes=2).to(device).eval()
tf = transforms.Compose([transforms.Resize(224), transforms.ToTensor(), {more}transforms.Normalize([0.5], [0.5])])
image = Image.open("dog.jpg")
"""


def asked(given, told=False, more=""):
    return HEAD.format(more=more) + f"x = {given}\nprint(model(x).argmax(1))" + ("  # <- 401" if told else "")


@table({
    "a list of transforms": asked("tf(image).unsqueeze(0)", told=True),
    "one transform": asked("transforms.ToTensor()(image)[None]", told=True),
    "functions": asked("torch.stack([TF.normalize(TF.to_tensor(image), [0.5], [0.5])])", told=True),
    "out of a data set": asked("datasets.MNIST('data', transform=tf)[0][0].unsqueeze(0)", told=True),
    "moved": asked("tf(image).unsqueeze(0).to(device)"),
    "moved at once": asked("tf(image).to(device).unsqueeze(0)"),
    "moved, and an item of it": asked("tf(image).cuda()[None]"),
    "moved by one of the functions": asked("TF.normalize(TF.to_tensor(image).to(device), [0.5], [0.5])[None]"),
    "moved where another one is": asked("tf(image).type_as(next(model.parameters()))[None]"),
    "moved by a step": asked("tf(image)[None]", more="transforms.Lambda(lambda x: x.to(device)), "),
    "what is no picture": asked("transforms.Resize(224)(image)"),
})
def test_a_tensor_of_an_image(code):
    holds(code)


def test_a_function_that_predicts():
    holds(HEAD.format(more="") + """
def predict(path, net):
    x = tf(Image.open(path)).unsqueeze(0)
    with torch.no_grad():
        return net(x).argmax(1)  # <- 401


predict("dog.jpg", model)
""")
