"""408: whose sizes are given to a view, and in which order."""

from tests.torchlint.dryrun.support import holds, table


@table({
    "products of sizes": """
def f(x):
    b, c, h, w = x.shape
    a = x.reshape(b, h * w, c)  # <- 408
    d = x.reshape(b, w * h, c)  # <- 408
    e = x.reshape(b * c, h * w)
    g = x.reshape(b, c * h * w)
    return a, d, e, g, x.reshape(b, h * 2, w // 2, c), x.reshape(b, 1, c, h, w)
""",
    "sizes of something else": """
def f(x, y):
    b, c, h, w = y.shape
    x = x.view(b, h, w, c)
    b, c, h, w = x.size()
    x = x.permute(0, 2, 3, 1)
    return x.reshape(b, h, w, c)
""",
    "one by one": """
def f(x):
    u = x.view(x.size(0), x.size(2), x.size(1))  # <- 408
    v = x.view((x.shape[0], x.shape[2], x.shape[1]))  # <- 408
    return u, v, x.view(x.size(0), -1, x.size(2)), x.view(-1, x.size(-1))
""",
    "what is left over": """
def f(x):
    b, c, h, w = x.shape
    first, *others = x.shape
    return x.view(b, -1, c), x.view(b, c, -1), x.view(-1, w), x.view(b, -1, h, w), x.view(first, -1)  # <- 408
""",
    "numbers": """
def f():
    x = torch.randn(8, 3, 32, 20)
    y = torch.zeros(2, 3, 4)
    a, b = x.view(8, 32, 20, 3), x.view(8, 3, 20, 32)  # <- 408, 408
    return a, b, x.view(32, 3, 8, 20), y.view(4, 3, 2), x.view(8, 3, 640)
""",
    "a size of one, a branch, a shift": """
conv = nn.Conv2d(8, 1, 3)

def f(x, flag):
    x = conv(x)
    b, c, h, w = x.shape
    return x.view(b, h, w, c)

def g(x):
    b, c, n = x.shape
    if c == n:
        return x.view(b, n, c)
    x = x.view(c, b, n)
    return x[1:]
""",
    "numbers, and what is left over": """
def f():
    x = F.interpolate(torch.randn(2, 16, 30, 40), scale_factor=2)
    x = x.div(torch.norm(x, p=2, dim=1).unsqueeze(1))
    y = nn.Upsample(size=(20, 24))(x)
    return x.reshape(-1, 60, 80, 16), y.view(2, 20, 24, 16), x.reshape(-1, 30, 40, 64)  # <- 408, 408
""",
})
def test_dimensions(code):
    holds(code)


IMAGES = """
import cv2
import numpy as np
from PIL import Image

"""


@table({
    "resized by OpenCV": """
def read(path):
    image = cv2.resize(cv2.imread(path), (224, 200)) / 255.0
    image = image.reshape(3, 200, 224)  # <- 408
    return torch.from_numpy(image)
""",
    "in other colours": """
def read(path):
    image = cv2.cvtColor(cv2.resize(cv2.imread(path), dsize=(64, 64)), cv2.COLOR_BGR2RGB)
    return torch.tensor(image).view(1, 3, 64, 64)  # <- 408
""",
    "a list of them": """
def read(paths):
    images = []
    for path in paths:
        images.append(np.array(cv2.imread(path)))
    return torch.tensor(images).float().view(-1, 3, 40, 80)  # <- 408
""",
    "parted": """
from sklearn.model_selection import train_test_split

def read(paths, labels):
    images = np.array([cv2.resize(cv2.imread(path), (64, 64)) for path in paths])
    x_train, x_test, y_train, y_test = train_test_split(images, make(labels))
    return torch.from_numpy(x_train).reshape((6400, 3, 64, 64)), x_test.reshape(1600, 3, 64, 64), y_train  # <- 408, 408
""",
    "Pillow": """
def read(path):
    image = np.asarray(Image.open(path).convert("RGB").resize((80, 40)))
    return torch.from_numpy(image).view(1, 3, 40, 80)  # <- 408
""",
    "sizes by their names": """
HEIGHT, WIDTH, CHANNELS = 64, 96, 3

def read(path):
    image = cv2.resize(cv2.imread(path), (WIDTH, HEIGHT))
    return torch.Tensor(image).reshape(-1, CHANNELS, HEIGHT, WIDTH)  # <- 408

def read_all(paths):
    images = np.array([cv2.resize(cv2.imread(path), (WIDTH, HEIGHT)) for path in paths])
    return images.reshape(len(images), CHANNELS, HEIGHT, WIDTH)  # <- 408
""",
    "stacked": """
def read(paths):
    images = np.stack([cv2.resize(cv2.imread(path), (64, 64)) for path in paths])
    return torch.from_numpy(images).view(-1, 3, 64, 64)  # <- 408
""",
    "stacked, with the colours in front": """
def read(paths):
    images = np.stack([cv2.resize(cv2.imread(path), (64, 64)).transpose(2, 0, 1) for path in paths], axis=0)
    last = np.stack([cv2.resize(cv2.imread(path), (64, 64), 0)[:, :, 0] for path in paths[:3]], axis=-1)
    return torch.from_numpy(images).view(-1, 3, 64, 64), last
""",
    "sizes by their names, in their order": """
HEIGHT, WIDTH, CHANNELS = 64, 96, 3

def read(path):
    image = torch.Tensor(cv2.resize(cv2.imread(path), (WIDTH, HEIGHT)))
    return image.view(1, HEIGHT, WIDTH, CHANNELS), image.permute(2, 0, 1).reshape(1, CHANNELS, HEIGHT, WIDTH)
""",
    "to be shown": """
def show(image):
    image = torch.randn(3, 64, 64)
    return image.reshape(64, 64, 3)  # <- 408
""",
    "moved": """
def read(path):
    image = cv2.resize(cv2.imread(path), (224, 200))
    one = torch.from_numpy(image).permute(2, 0, 1).reshape(1, 3, 200, 224)
    two = torch.from_numpy(image.transpose(2, 0, 1)).view(1, 3, 200, 224)
    three = torch.from_numpy(np.transpose(image, (2, 0, 1)).copy()).view(1, 3, 200, 224)
    return one, two, three, torch.from_numpy(image).view(1, 200, 224, 3)
""",
    "in grey, or in four colours": """
def read(path):
    one = cv2.resize(cv2.imread(path, 0), (60, 40)).reshape(3, 20, 40)
    two = cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2GRAY).reshape(3, 20, 40)
    three = cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2BGRA).reshape(3, 20, 40)
    four = np.asarray(Image.open(path).convert("L").resize((60, 40))).reshape(3, 20, 40)
    return torch.tensor(one), torch.tensor(two), torch.tensor(three), torch.tensor(four)
""",
    "rows of an image, a small grid": """
def cut(path, points):
    image = cv2.imread(path)
    small = torch.randn(9, 4, 4, 3)
    return torch.tensor(image.reshape(-1, 3)), torch.tensor(image).view(-1, 96), small.view(9, 3, 4, 4)
""",
    "made smaller in its place": """
def read(path):
    image = Image.open(path).convert("RGB").resize((80, 40))
    image.thumbnail((20, 20))
    return torch.tensor(np.array(image)).reshape(-1, 3, 40, 80)
""",
    "thrown away": """
def read(path):
    image = np.array([cv2.resize(cv2.imread(path), (64, 64))])
    image.reshape(1, 3, 64, 64)
    return torch.from_numpy(image).permute(0, 3, 1, 2)
""",
})
def test_images(code):
    holds(IMAGES + code)
