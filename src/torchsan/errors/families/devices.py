"""Devices: apart from one another, not there, without memory."""

from __future__ import annotations

from torchsan.errors import devices, memory
from torchsan.errors.family import Family, Said, Seen
from torchsan.own import torch


def _apart(seen: Seen) -> Said | None:
    offender, facts = devices.apart(seen.way, seen.operands, seen.watch)
    return Said(tuple(facts), offender)


def _none(seen: Seen) -> Said:
    built = torch.version.cuda
    why = (
        "this torch is built without CUDA"
        if built is None
        else f"this torch is built for CUDA {built}, and sees {torch.cuda.device_count()} devices"
    )
    return Said(
        (why,),
        None,
        '`device = "cuda" if torch.cuda.is_available() else "cpu"`'
        + (
            "; for a GPU install the CUDA build of torch"
            if built is None
            else "; `nvidia-smi` tells what the driver sees"
        ),
    )


def _word(seen: Seen) -> Said | None:
    word = seen.match["word"].strip()
    known = {
        "gpu": "cuda",
        "GPU": "cuda",
        "Cuda": "cuda",
        "CUDA": "cuda",
        "nvidia": "cuda",
        "half": "",
        "float": "",
        "double": "",
        "float16": "",
        "bfloat16": "",
    }
    near = known.get(word.partition(":")[0])
    if near == "":
        return Said((f"`{word}` was given",), None, f"types are no strings: `.to(torch.{word})`")
    return Said(
        (f"`{word}` was given",), None, f'write `"{near}{word[len(word.partition(":")[0]) :]}"`' if near else ""
    )


def _full(seen: Seen) -> Said:
    return Said(tuple(memory.facts(seen.text, seen.way)))


FAMILIES = (
    Family("", r"Expected all tensors to be on the same device", number=401, look=_apart),
    Family("", r"Tensor on device \S+ is not on the expected device", number=401, look=_apart),
    Family("", r"Input type \(torch\.cuda\.\w+\) and weight type \(torch\.\w*(?<!cuda\.)\w+\) should be the same",
           number=401, look=_apart),
    Family("", r"Input type \(torch\.\w+\) and weight type \(torch\.cuda\.\w+\) should be the same", number=401,
           look=_apart),
    Family("", r"can't convert \S+ device type tensor to numpy", number=416),
    Family("", r"Cannot re-initialize CUDA in forked subprocess", number=607),
    Family("", r"does not have a deterministic implementation, but you set "
           r"'torch\.use_deterministic_algorithms\(True\)'", number=934),
    Family("no-cuda", r"Torch not compiled with CUDA enabled|No CUDA GPUs are available|Found no NVIDIA driver|CUDA "
           r"driver (initialization failed|version is insufficient)|module 'torch\._C' has no attribute "
           r"'_cuda_\w+'|Cannot get CUDA generator without ATen_cuda library", "a GPU is asked for, and there is none",
           "`device = \"cuda\" if torch.cuda.is_available() else \"cpu\"`", look=_none),
    Family("no-such-gpu", r"invalid device ordinal", "a GPU is asked for that is not there",
           "GPUs count from 0; `CUDA_VISIBLE_DEVICES` numbers those that it leaves anew",
           look=lambda seen: Said((f"torch sees {torch.cuda.device_count()}",))),
    Family("no-accelerator", r"Cannot access accelerator device when none is available", "a device is given by "
           "number, and there is no accelerator", "`torch.device(\"cuda\" if torch.cuda.is_available() else \"cpu\")`"),
    Family("unknown-device", r"Expected one of cpu, cuda, .* device type at start of device string: "
           r"(?P<word>.*)|Invalid device string: '(?P<other>.*)'", "there is no such device",
           "`\"cpu\"`, `\"cuda\"`, `\"cuda:0\"` or `\"mps\"`", look=_word),
    Family("operation-not-on-device", r"Could not run '(?P<what>[\w:.]+)' with arguments from the '(?P<on>\w+)' "
           r"backend", "the operation is not there for this device or layout", "`.cpu()` before it, or `.to_dense()` "
           "for a sparse tensor", fact="`{what}` on {on}"),
    Family("operation-not-on-mps", r"The operator '(?P<what>\S+)' is not (currently )?implemented for the (?P<on>\w+) "
           r"device", "the operation is not there for this device", "`.cpu()` before it, or set "
           "`PYTORCH_ENABLE_MPS_FALLBACK=1`", fact="`{what}` on {on}"),
    Family("double-on-mps", r"MPS (framework )?doesn't support float64", "an Apple GPU has no float64",
           "`.float()` before `.to(\"mps\")`"),
    Family("meta-data", r"Cannot copy out of meta tensor; no data!|Tensor\.item\(\) cannot be called on meta tensors",
           "a tensor on the meta device has no values", "`model.to_empty(device=...)`, then load or initialise the "
           "weights"),
    Family("device-side-assert", r"device-side assert triggered", "a check inside of a GPU kernel failed, mostly an "
           "index or a class number that is out of range", "run once more on the CPU, or with "
           "`CUDA_LAUNCH_BLOCKING=1`, which names the line; this process cannot use the GPU any more"),
    Family("illegal-access", r"an illegal memory access was encountered|misaligned address|unspecified launch failure",
           "a GPU kernel read memory that is not its own", "run with `CUDA_LAUNCH_BLOCKING=1`, which names the line; "
           "suspect kernels of your own and indices first"),
    Family("no-kernel-image", r"no kernel image is available for execution on the device", "this torch was not built "
           "for this GPU", "install a build for it: `torch.cuda.get_arch_list()` tells those of this one"),
    Family("cublas", r"CUBLAS_STATUS_(?P<status>\w+)", "a matrix product on the GPU failed",
           "mostly memory, or sizes and indices out of range: try smaller batches, and once on the CPU",
           fact="cuBLAS says {status}"),
    Family("cudnn", r"cuDNN error: (?P<status>\w+)|Unable to find a valid cuDNN algorithm|FIND was unable to find an "
           r"engine", "a convolution or recurrent layer on the GPU failed", "mostly memory: try smaller batches, and "
           "once with `torch.backends.cudnn.enabled = False`"),
    Family("out-of-memory", r"can't allocate memory|out of memory", "the device has no memory left", "smaller batches "
           "with gradient accumulation, autocast, or checkpointing; look for losses or outputs that are kept with "
           "their graph (TS106)", look=_full),
)
