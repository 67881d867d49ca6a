"""What torchvision's classifiers give their heads: how many features behind the pooling, and what layers inside of a head take."""

from __future__ import annotations

_WIDTHS = """
resnet18 resnet34: fc 512
resnet50 resnet101 resnet152 resnext50_32x4d resnext101_32x8d resnext101_64x4d wide_resnet50_2 wide_resnet101_2: fc 2048
googlenet: fc 1024
inception_v3: fc 2048
shufflenet_v2_x0_5 shufflenet_v2_x1_0 shufflenet_v2_x1_5: fc 1024
shufflenet_v2_x2_0: fc 2048
alexnet: classifier 9216 1:9216 4:4096 6:4096
vgg11 vgg11_bn vgg13 vgg13_bn vgg16 vgg16_bn vgg19 vgg19_bn: classifier 25088 0:25088 3:4096 6:4096
densenet121: classifier 1024
densenet161: classifier 2208
densenet169: classifier 1664
densenet201: classifier 1920
mobilenet_v2: classifier 1280 1:1280
mobilenet_v3_large: classifier 960 0:960 3:1280
mobilenet_v3_small: classifier 576 0:576 3:1024
mnasnet0_5 mnasnet0_75 mnasnet1_0 mnasnet1_3: classifier 1280 1:1280
efficientnet_b0 efficientnet_b1 efficientnet_v2_s efficientnet_v2_m efficientnet_v2_l: classifier 1280 1:1280
efficientnet_b2: classifier 1408 1:1408
efficientnet_b3: classifier 1536 1:1536
efficientnet_b4: classifier 1792 1:1792
efficientnet_b5: classifier 2048 1:2048
efficientnet_b6: classifier 2304 1:2304
efficientnet_b7: classifier 2560 1:2560
vit_b_16 vit_b_32: heads 768
vit_l_16 vit_l_32: heads 1024
vit_h_14: heads 1280
swin_t swin_s swin_v2_t swin_v2_s: head 768
swin_b swin_v2_b: head 1024
"""


def _table() -> dict[str, tuple[str, int, dict[int, int]]]:
    found = {}
    for line in filter(None, _WIDTHS.split("\n")):
        names, _, said = line.partition(": ")
        head, width, *inside = said.split()
        layers = {int(place): int(wide) for place, _, wide in (item.partition(":") for item in inside)}
        for name in names.split():
            found[name] = (head, int(width), layers)
    return found


HEADS = _table()
"""By name of what makes the model: the attribute that its head is, what it takes, and what the layers in it take by their place."""
