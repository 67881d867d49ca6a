"""What makes the models of torchvision, as of 0.29: each took `pretrained` until 0.13 gave it `weights`, and still does, with a warning."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

_BUILDERS = """
alexnet: alexnet
convnext: convnext_tiny convnext_small convnext_base convnext_large
densenet: densenet121 densenet161 densenet169 densenet201
efficientnet: efficientnet_b0 efficientnet_b1 efficientnet_b2 efficientnet_b3 efficientnet_b4 efficientnet_b5
    efficientnet_b6 efficientnet_b7 efficientnet_v2_s efficientnet_v2_m efficientnet_v2_l
googlenet: googlenet
inception: inception_v3
maxvit: maxvit_t
mnasnet: mnasnet0_5 mnasnet0_75 mnasnet1_0 mnasnet1_3
mobilenetv2: mobilenet_v2
mobilenetv3: mobilenet_v3_large mobilenet_v3_small
regnet: regnet_y_400mf regnet_y_800mf regnet_y_1_6gf regnet_y_3_2gf regnet_y_8gf regnet_y_16gf regnet_y_32gf
    regnet_y_128gf regnet_x_400mf regnet_x_800mf regnet_x_1_6gf regnet_x_3_2gf regnet_x_8gf regnet_x_16gf regnet_x_32gf
resnet: resnet18 resnet34 resnet50 resnet101 resnet152 resnext50_32x4d resnext101_32x8d resnext101_64x4d wide_resnet50_2
    wide_resnet101_2
shufflenetv2: shufflenet_v2_x0_5 shufflenet_v2_x1_0 shufflenet_v2_x1_5 shufflenet_v2_x2_0
squeezenet: squeezenet1_0 squeezenet1_1
swin_transformer: swin_t swin_s swin_b swin_v2_t swin_v2_s swin_v2_b
vgg: vgg11 vgg11_bn vgg13 vgg13_bn vgg16 vgg16_bn vgg19 vgg19_bn
vision_transformer: vit_b_16 vit_b_32 vit_l_16 vit_l_32 vit_h_14
detection.backbone_utils: resnet_fpn_backbone mobilenet_backbone
detection.faster_rcnn: fasterrcnn_resnet50_fpn fasterrcnn_resnet50_fpn_v2 fasterrcnn_mobilenet_v3_large_320_fpn
    fasterrcnn_mobilenet_v3_large_fpn
detection.fcos: fcos_resnet50_fpn
detection.keypoint_rcnn: keypointrcnn_resnet50_fpn
detection.mask_rcnn: maskrcnn_resnet50_fpn maskrcnn_resnet50_fpn_v2
detection.retinanet: retinanet_resnet50_fpn retinanet_resnet50_fpn_v2
detection.ssd: ssd300_vgg16
detection.ssdlite: ssdlite320_mobilenet_v3_large
optical_flow.raft: raft_large raft_small
quantization.googlenet: googlenet
quantization.inception: inception_v3
quantization.mobilenetv2: mobilenet_v2
quantization.mobilenetv3: mobilenet_v3_large
quantization.resnet: resnet18 resnet50 resnext101_32x8d resnext101_64x4d
quantization.shufflenetv2: shufflenet_v2_x0_5 shufflenet_v2_x1_0 shufflenet_v2_x1_5 shufflenet_v2_x2_0
segmentation.deeplabv3: deeplabv3_resnet50 deeplabv3_resnet101 deeplabv3_mobilenet_v3_large
segmentation.fcn: fcn_resnet50 fcn_resnet101
segmentation.lraspp: lraspp_mobilenet_v3_large
video.mvit: mvit_v1_b mvit_v2_s
video.resnet: r3d_18 mc3_18 r2plus1d_18
video.s3d: s3d
video.swin_transformer: swin3d_t swin3d_s swin3d_b
"""


def _lines() -> Iterator[str]:
    for line in _BUILDERS.replace("\n ", " ").split("\n"):
        if line:
            yield line


@lru_cache(maxsize=1)
def builders() -> frozenset[str]:
    """Their qualified names, of which each has two: by its file, and by the package that the file is in."""
    found = set()
    for line in _lines():
        file, _, names = line.partition(":")
        for name in names.split():
            found |= {f"torchvision.models.{file}.{name}", f"torchvision.models.{file}".rpartition(".")[0] + f".{name}"}
    return frozenset(found)
