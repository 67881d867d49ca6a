"""What names tell: what the classes and functions of torch, and of the libraries on top of it, are, by qualified name; and
what a value is by its own name, where nothing else tells."""

from __future__ import annotations

import re
from functools import lru_cache

from torchlint.catalogue.protocols import made_by

# One thing, several public names: the left side is rewritten to the right one.
_ALIASES = (
    (re.compile(r"^torch\.nn\.modules\.(?:\w+\.)?(?=[A-Z])"), "torch.nn."),
    (re.compile(r"^torch\.nn\.parameter\."), "torch.nn."),
    (re.compile(r"^torch\.optim\.(?!lr_scheduler|swa_utils)[a-z_]+\.(?=[A-Z])"), "torch.optim."),
    (re.compile(r"^torch\.utils\.data\.(?:dataloader|dataset|sampler|distributed)\.(?=[A-Za-z])"), "torch.utils.data."),
    (re.compile(r"^torch\.(?:cuda|cpu)\.amp\.(?:grad_scaler\.|autocast_mode\.)?"), "torch.amp."),
    (re.compile(r"^torch\.amp\.(?:grad_scaler|autocast_mode)\."), "torch.amp."),
    (re.compile(r"^torch\.(?=(?:autocast|GradScaler)$)"), "torch.amp."),
    (re.compile(r"^torch\.nn\.utils\.clip_grad\."), "torch.nn.utils."),
    (re.compile(r"^torch\.nn\.parallel\.(?:distributed|data_parallel)\."), "torch.nn.parallel."),
    (re.compile(r"^torch\.nn\.DataParallel$"), "torch.nn.parallel.DataParallel"),
    (re.compile(r"^torch\.autograd\.(?:variable\.Variable|Variable)$"), "torch.autograd.Variable"),
    (re.compile(r"^torch\.autograd\.grad_mode\."), "torch."),
    (re.compile(r"^torch\.distributed\.distributed_c10d\."), "torch.distributed."),
    (re.compile(r"^torch\.special\.(?=softmax|log_softmax)"), "torch."),
    (re.compile(r"^(?:pytorch_lightning|lightning\.pytorch|lightning)\.(?:core\.)?(?:\w+\.)?(?=Lightning)"), "lightning."),
)

SCHEDULERS = re.compile(r"^torch\.optim\.lr_scheduler\.[A-Z]\w*$|^torch\.optim\.swa_utils\.SWALR$")
OPTIMIZERS = re.compile(
    r"^torch\.optim\.(?!Optimizer$)[A-Z]\w*$|^(?:timm\.optim|transformers|apex\.optimizers|bitsandbytes\.optim|torch_optimizer"
    r"|adabound|ranger|radam)\.(?:\w+\.)*(?:Adam\w*|SGD\w*|LAMB|Lamb\w*|RAdam|Ranger|Adafactor|AdaBound|Fused\w+|Lion\w*|NovoGrad|RMSprop\w*)$"
)
_SCHEDULES = re.compile(r"^(?:transformers|diffusers|pytorch_transformers)\.(?:\w+\.)*get_\w*schedule\w*$")
LOSSES = re.compile(r"^torch\.nn\.\w*Loss\w*$")
_MODE = re.compile(r"^torch\.nn\.(?:\w*Dropout\w*|\w*BatchNorm\w*|RReLU)$")
# timm's functions beside its models: what lies in these files of timm.models, and what begins like this.
_NO_MODELS = (
    r"(?!layers\.|helpers\.|_?hub\.|_?registry\.|_?features|_\w+\.)(?:\w+\.)*(?!(?:list|load|resume|register|get|set|is|parse|split|safe|clean|remap|push"
    r"|save|model|named|group|checkpoint|adapt|filter|generate|resolve|build)(?:_|$))"
)
_MODEL_MAKERS = re.compile(
    r"^torchvision\.models\.(?:\w+\.)*(?!list_models|get_weight|get_model_weights|\w*_Weights)\w+$|^timm\.create_model$"
    rf"|^timm\.models\.create_model$|^timm\.models\.{_NO_MODELS}[a-z]\w*$|^torch\.hub\.load$|^segmentation_models_pytorch\.[A-Z]\w*$"
    r"|^efficientnet_pytorch\.EfficientNet\.\w+$|^pretrainedmodels\.(?:\w+\.)*\w+$|^monai\.networks\.nets\.(?:\w+\.)*\w+$"
)
_WRAPPERS = re.compile(
    r"^torch\.nn\.parallel\.(?:DistributedDataParallel|DataParallel)$|^apex\.parallel\.DistributedDataParallel$"
    r"|^torch\.distributed\.fsdp\.(?:\w+\.)?FullyShardedDataParallel$"
)
_SAMPLERS = re.compile(r"^(?:torch\.utils\.data|torchvision\.datasets\.samplers)\.(?:\w+\.)*\w*Sampler$")
_ACCELERATORS = re.compile(r"^accelerate\.(?:\w+\.)*Accelerator$|^(?:lightning|lightning_fabric|lightning\.fabric)\.(?:\w+\.)*Fabric$")
# What a value is called, of which nothing else tells what it is.
OPTIMIZER_NAME = re.compile(r"optim|(?:^|_)opt(?:_|$|\d|[A-Z])|^opt|(?:^|_)(?:adam|sgd)(?:_|$)", re.IGNORECASE)
SCHEDULER_NAME = re.compile(r"sched|lr_policy|(?:^|_)warmup", re.IGNORECASE)
SCALER_NAME = re.compile(r"scaler", re.IGNORECASE)
FRAMEWORK_NAME = re.compile(r"accelerat|fabric|engine|strategy|manager|(?:^|_)amp$", re.IGNORECASE)


@lru_cache(maxsize=4096)  # a program asks for the same names again and again
def canonical(name: str) -> str:
    """The one name used here for something that torch offers under several."""
    if name.startswith(("torch.", "pytorch_lightning", "lightning")):
        for pattern, better in _ALIASES:
            name = pattern.sub(better, name)
    return name


@lru_cache(maxsize=4096)
def kind_of(name: str) -> str:
    """What calling the class or factory of that (canonical) name gives: module, loss, optimizer, scheduler, scaler, loader,
    sampler, wrapper (a module around a module), dataset, device, or "" where nothing is known."""
    if name.startswith("torch."):
        if LOSSES.match(name):
            return "loss"
        if name in ("torch.nn.Parameter", "torch.nn.UninitializedParameter", "torch.nn.Buffer"):
            return ""
        if _WRAPPERS.match(name):
            return "wrapper"
        if name.startswith("torch.nn.") and name.count(".") == 2 and name[9].isupper():
            return "module"
        if name.startswith(("torch.nn.utils.parametrizations.", "torch.ao.nn.")) and name.rsplit(".", 1)[1][:1].isupper():
            return "module"
        if SCHEDULERS.match(name):
            return "scheduler"
        if OPTIMIZERS.match(name):
            return "optimizer"
        if name == "torch.amp.GradScaler":
            return "scaler"
        if name == "torch.utils.data.DataLoader":
            return "loader"
        if _SAMPLERS.match(name):
            return "sampler"
        if name in ("torch.utils.data.Dataset", "torch.utils.data.Subset") or re.match(r"^torch\.utils\.data\.\w*Dataset$", name):
            return "dataset"
        if name == "torch.device":
            return "device"
        if name == "torch.hub.load":
            return "module"
        if name == "torch.optim.swa_utils.AveragedModel":
            return "module"
        return ""
    if _WRAPPERS.match(name):
        return "wrapper"
    if OPTIMIZERS.match(name):
        return "optimizer"
    if _SCHEDULES.match(name):
        return "scheduler"
    if _MODEL_MAKERS.match(name):
        return "module"
    made = made_by(name)
    if made is not None:
        return "module" if made.gives == "model" else ""
    if name.startswith(("torch_geometric.nn.", "dgl.nn.")) and name.rsplit(".", 1)[1][:1].isupper():
        return "module"
    if name.startswith(("transformers.", "diffusers.")) and re.search(r"\.(?!\w*Collator)\w*(?:Model|For[A-Z]\w+)$", name):
        return "module"
    if name.startswith("torchvision.datasets."):
        return "sampler" if _SAMPLERS.match(name) else "dataset"
    if _ACCELERATORS.match(name):
        return "accelerator"
    return ""


def base_kind(name: str) -> str:
    """What the instances of a class derived from `name` are; "" where that is not known."""
    if name in ("torch.nn.Module", "lightning.LightningModule", "torch.jit.ScriptModule", "fastai.torch_core.Module"):
        return "module"
    if re.match(r"^(?:mmcv|mmengine)\.(?:\w+\.)*BaseModule$|^transformers\.(?:\w+\.)*PreTrainedModel$", name):
        return "module"
    if re.match(r"^torch_geometric\.nn\.(?:\w+\.)*\w+$", name):
        return "module"
    if name == "torch.optim.Optimizer":
        return "optimizer"
    if name in ("torch.optim.lr_scheduler.LRScheduler", "torch.optim.lr_scheduler._LRScheduler"):
        return "scheduler"
    kind = kind_of(name)
    return "module" if kind in ("wrapper", "loss") else kind


def mode_dependent(name: str) -> bool | None:
    """Whether a torch layer computes something else in training than in evaluation; None if it cannot be told."""
    if _MODE.match(name):
        return True
    if name in ("torch.nn.TransformerEncoderLayer", "torch.nn.TransformerDecoderLayer", "torch.nn.Transformer"):
        return True  # dropout is 0.1 unless the caller says otherwise
    if name in ("torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN", "torch.nn.MultiheadAttention"):
        return None
    if name.startswith("torch.nn."):
        return False
    if name.startswith("torchvision.models."):
        return True
    if name.startswith("diffusers."):
        return False  # group norm, and dropout of 0 unless it is asked for
    return None
