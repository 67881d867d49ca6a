"""What a stretch of source must mention before a rule can have anything to say about it: the rules' triggers.

Each rule has alternatives; an alternative is a tuple of word sets, of each of which at least one word must be there. Words
that begin with "!" are marks that the sieve sets for a shape of statement, or for where it stands: "!class" in a method,
"!forward" in what forward runs, "!step" in a step that Lightning calls. No libcst here: most files are read no further.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from torchlint.catalogue import torchtext_gone, torchvision_gone
from torchlint.catalogue.apis import COMMON_INITS, NUMBER_FIRST, table, words
from torchlint.catalogue.array_reads import METRICS, PLOTS, STATISTICS
from torchlint.catalogue.effects import CREATES, KEEP_RESULT
from torchlint.catalogue.hosted import gone_names, hosted
from torchlint.catalogue.pages import Rule
from torchlint.catalogue.protocols import GROWS
from torchlint.catalogue.torchvision_gone import ARGUMENTS, DATA
from torchlint.catalogue.torchvision_models import builders
from torchlint.catalogue.vision_labels import DATA_SETS
from torchlint.catalogue.vision_widths import HEADS

Need = tuple[frozenset[str], ...]


def _any(*words: str) -> frozenset[str]:
    return frozenset(" ".join(words).split())


_LAYERS = _any(
    "Linear Bilinear Embedding EmbeddingBag LSTM GRU RNN LSTMCell GRUCell RNNCell Conv1d Conv2d Conv3d ConvTranspose1d"
    " ConvTranspose2d ConvTranspose3d BatchNorm1d BatchNorm2d BatchNorm3d LayerNorm GroupNorm InstanceNorm2d PReLU"
    " MultiheadAttention Transformer TransformerEncoderLayer TransformerDecoderLayer Dropout Dropout1d Dropout2d Dropout3d"
    " AlphaDropout FeatureAlphaDropout"
)
_TARGETS = _any(
    "cross_entropy nll_loss binary_cross_entropy binary_cross_entropy_with_logits kl_div ctc_loss CrossEntropyLoss NLLLoss BCELoss"
    " BCEWithLogitsLoss KLDivLoss CTCLoss MultiMarginLoss PoissonNLLLoss multi_margin_loss poisson_nll_loss"
)
_OF_SCORES = _any("cross_entropy CrossEntropyLoss binary_cross_entropy_with_logits BCEWithLogitsLoss nll_loss NLLLoss")
_VALUES = _any("MSELoss L1Loss SmoothL1Loss HuberLoss mse_loss l1_loss smooth_l1_loss huber_loss")
_SIZED = _any(
    "Linear Embedding LSTM GRU RNN Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d BatchNorm1d BatchNorm2d"
    " BatchNorm3d LayerNorm GroupNorm MultiheadAttention"
)
_LEAVES = _any("!leaf requires_grad Parameter requires_grad_ Variable")
_OPTIMIZERS = _any(
    "SGD Adam AdamW Adamax NAdam RAdam RMSprop Rprop Adagrad Adadelta Adafactor ASGD LBFGS SparseAdam Muon Lamb FusedAdam"
)
_SCHEDULERS = _any(
    "StepLR MultiStepLR LambdaLR MultiplicativeLR ConstantLR LinearLR ExponentialLR PolynomialLR CosineAnnealingLR CyclicLR"
    " CosineAnnealingWarmRestarts OneCycleLR ReduceLROnPlateau SequentialLR ChainedScheduler SWALR"
    " get_linear_schedule_with_warmup get_cosine_schedule_with_warmup get_constant_schedule_with_warmup"
)
_HOSTED = words(hosted().keywords)
_TRAINERS = _any("Trainer Seq2SeqTrainer SFTTrainer RewardTrainer DPOTrainer")
_HELD_OUT = _any(*(part + name for part in "val valid validation dev test eval".split() for name in "_loader loader _dataloader _dl _iter".split()))
_GROWING = _any(*GROWS)
_WRAPS = _any("DistributedDataParallel DDP parallel")
_COLLECTIVES = _any(
    "all_reduce all_gather all_gather_into_tensor all_gather_object reduce broadcast broadcast_object_list barrier reduce_scatter"
    " reduce_scatter_tensor gather gather_object scatter scatter_object_list all_to_all all_to_all_single"
)
_EVENTS = {
    "optimizer.step": _any("step"),
    "optimizer.zero_grad": _any("zero_grad zero_ grad"),
    "backward": _any("backward"),
    "scheduler.create": _any("step"),
    "scheduler.step": _any("step"),
    "scaler.scale": _any("scale"),
    "scaler.unscale": _any("unscale_"),
    "scaler.step": _any("step"),
    "scaler.update": _any("update"),
    "clip": _any("clip_grad_norm_ clip_grad_value_ clip_grad_norm clip_gradients"),
    "module.train": _any("train"),
    "module.eval": _any("eval"),
    "loader.iterate": _any("DistributedSampler"),
    "sampler.set_epoch": _any("set_epoch"),
    "save": _any("save"),
    "load": _any("load_state_dict"),
}
_CUSTOM: dict[int, tuple[Need, ...]] = {
    1: ((_any("pad_token pad_token_id"), _any("eos_token eos_token_id")),),
    2: ((_any("loss logits backward"),),),
    3: ((_any("cross_entropy CrossEntropyLoss nll_loss NLLLoss"),),),
    4: ((_any("get_peft_model inject_adapter_in_model PeftModel PeftModelForCausalLM AutoPeftModelForCausalLM"), _any("step train")),),
    6: ((_any("accumulate"), _any("range"), _any("backward")),),
    5: ((_any("prepare setup prepare_model setup_module"), _any("backward step clip_grad_norm_ clip_grad_value_")),),
    7: ((_any("step"), _any("backward")),),
    8: ((_any("gather"), _any("eval")),),
    9: ((_TRAINERS, _any("train")),),
    11: ((_any("prepare"), _any("accumulate"), _any("next break")),),
    10: ((_any("generate"),),),
    12: ((_any("imread open"), _any("from_numpy tensor as_tensor")),),
    103: ((_any("step"),), (_any("backward"),)),
    104: ((_any("step"), _any("backward")),),
    105: ((_any("step"), _any("backward")),),
    106: ((_any("backward"),), (_any("eval"),)),
    101: ((_any("grad"), _any("backward")), (_any("step"), _any("backward"), _any("zero_grad"))),
    107: ((_any("backward"),),),
    108: ((_any("backward"), _any("no_grad inference_mode set_grad_enabled")),),
    110: ((_SCHEDULERS,), (_any("step"),)),  # the optimizer may step in a function of its own
    111: ((_SCHEDULERS,),),
    112: ((_any("step"), _any("backward")),),  # what clips once may be the constructor of what steps
    113: ((_any("item tolist numpy"),),),
    114: ((_LEAVES | _any("weight bias parameters named_parameters"), _any("!leafwrite")),),
    115: ((frozenset(f"!onto {name}" for name in KEEP_RESULT),), (_any("step"), _any("backward"))),
    116: (
        (_any("!leafkept"),),
        (_any("!kept?"), _LEAVES),
        (_LEAVES, _any("to cuda cpu half float double detach clone data"), _OPTIMIZERS | {"optim"}),
    ),
    117: ((_any("backward"),), (_any("numpy item tolist"), CREATES, _any("!forward"))),
    118: ((_any("parameters"), _any("!setattr")), (_GROWING, _any("step")), (_any("step"), _any("backward"))),
    122: ((_any("step"), _OPTIMIZERS | _SCHEDULERS),),
    123: ((_any("grad"), _LEAVES),),
    124: ((_any("Adam"),),),
    126: ((_any("LBFGS"), _any("step")),),
    127: ((_any("step"), _OPTIMIZERS),),
    130: ((_any("step"), _any("backward")),),
    131: ((_any("parameters named_parameters"),),),
    132: ((_any("!bare !asked"),), (_any("parameters"), _OPTIMIZERS | {"optim"})),
    133: ((_any("zero_grad"),),),
    134: ((_any("!dropped"),),),
    136: ((_any("step"), _any("backward")),),
    137: ((_any("ctx grad_output grad_outputs saved_tensors grad"), _any("!class")),),
    141: ((_any("requires_grad requires_grad_"), _any("parameters requires_grad_")), (_any("step"), _any("backward"))),
    138: ((_any("requires_grad requires_grad_"), _any("parameters")), (_any("step"), _any("backward"))),
    139: ((_any("ReduceLROnPlateau"), _any("step")),),
    201: ((_any("backward"),),),
    202: ((_any("eval"),), (_any("argmax numpy"),), (_any("backward !evaluates"), _any("max topk item data detach cpu print"))),
    203: ((_any("from_pretrained"), _any("backward")),),
    204: ((_any("scaled_dot_product_attention"), _any("!class")),),
    205: ((_any("inference_mode"),),),
    206: ((_any("trace export"),),),
    207: ((_any("load_state_dict"), _any("!calls")),),
    210: ((_any("step"), _any("backward")),),
    211: ((_any("step"), _any("backward")),),
    208: ((_any("DataLoader"),),),
    305: ((_any("log log_"), _any("softmax Softmax softmin Softmin gumbel_softmax")), (_any("log log_"), _any("backward"))),
    306: ((_any("int short char bool float half double long LongTensor FloatTensor IntTensor dtype type to randint tensor arange argmax full"), _TARGETS),),
    307: (
        (_any("cross_entropy nll_loss CrossEntropyLoss NLLLoss"), _any("tensor randint")),
        (_any(*DATA_SETS),), (_any("backward"), _any("step")),
    ),
    308: ((_TARGETS | _VALUES,),),
    303: ((_any("backward"),),),  # of losses of the project itself
    309: ((_VALUES,),),
    310: ((_TARGETS,),),
    319: ((_any("cross_entropy nll_loss CrossEntropyLoss NLLLoss softmax log_softmax Softmax LogSoftmax"),),),
    312: ((_any("softmax log_softmax softmin Softmax LogSoftmax Softmin"),),),
    313: ((_any("relu relu_ ReLU"), _TARGETS), (_OF_SCORES,)),
    314: ((_any("log sqrt"),),),
    316: ((_any("item"), _any("len"), _any("!inplace")),),
    317: ((_any("log exp"),),),
    321: ((_any("argmax argmin"), _any("DataLoader")),),
    315: ((_any("backward"),),),
    318: ((_any("masked_fill masked_fill_"),),),
    401: ((_any("to cuda"), CREATES | {"DataLoader", "torch_geometric", "!kept"}), (_any("to cuda"), _TARGETS | _VALUES), (_any("to cuda"), _LAYERS),
          (_any("to cuda"), _any("load_state_dict"), _OPTIMIZERS), (_any("torchsummary"), _any("summary")), (_any("to cuda"), _any("pack_padded_sequence")),
          (_any("DataParallel"),)),
    402: ((CREATES, _any("!forward !step")),),
    403: ((_any("cuda to device") | CREATES,),),
    404: ((_any("to cuda cpu"), _any("!forward")),),
    405: ((_any("!discarded"),),),
    406: ((_any("view"), _any("transpose permute t T mT swapaxes movedim")),),
    409: ((_SIZED, CREATES | _any("long int short byte bool argmax")),),
    410: (
        (_any("from_numpy as_tensor tensor double float64 DoubleTensor"), _SIZED | _TARGETS | _VALUES),
        (_any("backward"),),  # a data set may make the numbers, in a file of its own
    ),
    411: ((_any("Embedding EmbeddingBag embedding gather scatter scatter_ scatter_add scatter_add_ index_select index_add index_add_ one_hot"
                " index_fill index_fill_ index_copy_ take_along_dim masked_fill masked_fill_ masked_select masked_scatter masked_scatter_ !quotient"),),),
    412: ((_any("!copied"),),),
    414: ((_any("expand expand_as"), _any("!inplace")),),
    415: ((_any("!forward"),),),
    416: ((_any("numpy np asarray"),), (_any("plt pyplot"), PLOTS), (METRICS,), (_any("scipy stats"), STATISTICS)),
    418: ((_any("!forward"),),),
    419: ((_any("!forward"),),),
    421: ((_any("cat concat concatenate hstack vstack"),),),
    424: ((_any("empty_cache"),),),
    425: ((_any("DataLoader"), _any("to cuda")),),
    427: ((_any("!nan"),),),
    429: ((_any("tensor Tensor FloatTensor LongTensor as_tensor"), _any("np numpy array stack rand randn zeros")),),
    430: ((_any("to cuda"),),),
    408: ((_any("!arranged"),),),
    417: ((_any("Linear"), _any("mean sum abs item")), (_any("backward"), _any("mean sum"))),
    428: ((_any("einsum !pattern"),),),
    501: ((_any("!container"), _any("!class")),),
    502: ((_any("!kept"), _any("!class")), (_any("!kept?"), CREATES, _any("!class"))),
    503: ((_any("!init"), _any("!class")),),
    504: ((_any("forward"),),),
    505: ((_LAYERS, _any("!forward")),),
    506: ((_any("!idle"), _any("!class")),),
    507: ((_any("!repeat"), _LAYERS), (_any("!default"),), (_any("BatchNorm1d BatchNorm2d BatchNorm3d"), _any("!forward"))),
    509: ((_any("Linear"),),),
    512: ((_any("register_forward_hook register_full_backward_hook register_backward_hook register_forward_pre_hook"),),),
    514: ((_any("!falls"), _any("!class")),),
    515: ((_any("constant_ zeros_ ones_ fill_ zero_"), _any("isinstance"), _any("Linear Conv1d Conv2d Conv3d ConvTranspose2d")),),
    517: ((_any("BatchNorm1d BatchNorm2d BatchNorm3d"),),),
    518: ((_any("DataLoader"), _any("step"), _any("backward")),),
    520: ((_any("MultiheadAttention Transformer TransformerEncoder TransformerDecoder TransformerEncoderLayer TransformerDecoderLayer"),),),
    521: ((_any("!replaced"),),),
    508: ((_any("!sized"),), (words(builders()),), (frozenset(HEADS), _any("Linear")), (_any("cat concat matmul mm bmm"), _any("zeros ones empty rand randn full"))),
    510: (
        (_any("DataLoader"), _any("backward no_grad eval")),  # whatever layers the model has, in whichever file
        (_any("!sequence"), _any("LSTM GRU RNN MultiheadAttention TransformerEncoderLayer")),
        (_any("view reshape flatten Flatten"), _any("LSTM GRU RNN"), _any("Linear")),
    ),
    511: ((_any("MultiheadAttention Transformer TransformerEncoderLayer TransformerDecoderLayer"),),),
    522: ((_any("!flag"),),),
    523: ((_any("!flag"),),),
    525: ((_any("Dropout1d Dropout2d Dropout3d dropout1d dropout2d dropout3d InstanceNorm1d"),),),
    601: ((_any("DataLoader"),),),
    602: ((_any("DataLoader"),),),
    603: ((_any("DataLoader"),), (_any("step"), _any("backward")), (_any("fit_generator"),)),
    604: ((_any("DataLoader"),),),
    605: ((_any("!item"), _any("!class")),),
    606: ((_any("DataLoader"),),),
    607: ((_any("DataLoader"),),),
    608: ((_any("DataLoader"),),),
    609: ((_any("iter"), _any("next"), _any("step")),),
    610: ((_any("DataLoader"),),),
    611: ((_any("DataLoader"), _any("step")),),
    612: ((_any("DataLoader"),),),
    613: (
        (_any("transform transforms Compose"), _any("datasets CIFAR10 CIFAR100 ImageFolder MNIST FashionMNIST SVHN STL10 ImageNet")),
        (_any("DataLoader"),),
    ),
    614: ((_OPTIMIZERS, _any("step")),),
    616: (
        (_any("fit"), _any("transform")), (_any("fit_transform"),), (_any("backward"), _any("eval no_grad inference_mode")), (_any("DataLoader"),),
        (_any("mean median min amin"), _any("std var max amax ptp")), (_any("step"), _HELD_OUT),
    ),
    617: ((_any("DataLoader"),), (_any("!misspelt"), _any("!class"))),
    620: ((_any("step"), _any("backward"), _any("enumerate step steps iteration iter")),),
    618: ((_any("DataLoader"),),),
    701: ((_any("autocast"), _any("backward")), (_any("amp_autocast"), _any("backward"))),
    702: ((_any("autocast"), _any("backward")),),
    705: ((_any("scale"), _any("backward")),),
    706: ((_any("autocast"), _any("scale")),),
    707: ((_any("half float16"), _any("step")), (_TRAINERS, _any("train"))),
    710: ((_any("GradScaler"), _any("step")), (_any("apex"), _any("initialize"), _any("step"))),  # a helper of another file may save
    709: ((_any("autocast"), _any("BCELoss binary_cross_entropy")),),
    712: ((_any("unscale_"),),),
    801: ((_any("DistributedSampler"),),),
    802: ((_WRAPS, _any("DataLoader")),),
    803: ((_WRAPS, _any("to cuda half double bfloat16")),),
    804: ((_WRAPS, _any("to cuda")),),
    805: ((_WRAPS | _any("init_process_group"), _any("save")),),
    806: ((_COLLECTIVES | _any("bcast Bcast Barrier allreduce Allreduce allgather Allgather alltoall Gather Reduce Scatter wait_for_everyone gather_for_metrics"
                                " rendezvous mesh_reduce allreduce_ broadcast_ broadcast_parameters broadcast_optimizer_state broadcast_object"),),),
    807: ((_WRAPS, _any("module")),),
    808: ((_any("save"), _WRAPS | _any("DataParallel")),),
    811: (
        (frozenset({"!launch", "torch.distributed.launch", "!from torch.distributed.launch"}),),
        (frozenset({"!from torch.distributed"}), _any("launch")),
    ),
    814: ((_WRAPS, _any("backward")),),
    816: ((_any("load"), _WRAPS | _any("init_process_group")),),
    817: ((_any("init_process_group"),),),
    818: ((_any("save"), _any("load")),),
    815: ((_any("fully_shard FullyShardedDataParallel FSDP"), _any("parameters")),),
    824: ((_any("fully_shard"), _any("grad clip_grad_norm_")),),
    819: ((_any("DistributedSampler WeightedRandomSampler SubsetRandomSampler RandomSampler"), _any("DataLoader")),),
    820: ((_any("isend irecv async_op"),), (_COLLECTIVES,)),
    823: ((_any("log log_dict"), _any("!class")), (_COLLECTIVES,)),
    822: ((_WRAPS | _any("FullyShardedDataParallel FSDP"), _any("backward")), (_any("backward"),)),
    901: ((_any("load"),),),
    902: ((_any("save dump"),),),
    905: (
        (_any("save"), _any("step")),
        (_any("load_state_dict"),),
        (_any("step"), _any("backward")),
        (_OPTIMIZERS, _any("!class")),
        (_any("save_state"), _any("step")),
        (_TRAINERS, _any("train")),
    ),
    907: ((_any("!loose"),),),
    908: ((_any("compile"), _any("save")),),
    922: ((_any("compile"), _any("!forward")), (_any("compile"), _any("step backward"))),
    921: ((_any("compile"),),),
    923: ((_any("time perf_counter monotonic default_timer"),),),
    931: ((_any("manual_seed"),),),
    # One may stand under a condition, the other elsewhere; of Lightning's trainer they are keywords.
    932: ((_any("benchmark deterministic"),), (_any("Trainer"), _any("fit"))),
    933: ((_any("CUBLAS_WORKSPACE_CONFIG environ"), _any("backward")),),
    934: ((_any("use_deterministic_algorithms"),), (_any("AvgPool3d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool2d histc grid_sample ctc_loss CTCLoss"
                                                   " FractionalMaxPool2d FractionalMaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d ReflectionPad1d"
                                                   " ReflectionPad2d ReflectionPad3d"),)),
    943: ((_any("!keyword"),), (_HOSTED,), (frozenset(name.rpartition(".")[2] for name in ARGUMENTS),)),
    944: ((_any("generate input_ids !ids"),),),
    904: ((_any("!state !best"), _any("step backward train fit load_state_dict save")), (_any("!state"), _any("!setattr"), _any("!class"))),
    906: ((_any("!loading"),), (_any("!loaded"), _any("!calls eval train"))),
}


def _gone(name: str) -> Need:
    """`functional` alone is said of many things: with what it is in, unless that is torch itself."""
    around, _, last = name.rpartition(".")
    inner = around.rpartition(".")[2]
    return (frozenset({last}),) if inner == "torch" else (frozenset({last}), frozenset({inner, f"!from {around}"}))


def _old(names: Iterable[str], package: str) -> Iterator[Need]:
    """A name where its package is named, too, or where it is imported from that."""
    yield words(names), frozenset({package, *(f"!from {name.rpartition('.')[0]}" for name in names)})
    yield (frozenset({f"!from {name}" for name in names}),)


# By name: 941 also sees what is imported from a module that is gone. `init` tells nn.init.normal from other normals.
# Of these the last name alone is said of many things.
_NEEDS_MORE = re.compile(r"\.(?:sparse|jit|quantization)\.")
_QUANTIZED, _COMMON = words(name for name in table().deprecated if ".quantization." in name), _any("prepare convert quantize")
_CUSTOM |= {
    708: ((_any("autocast GradScaler custom_fwd custom_bwd"),),),
    941: (
        (frozenset(name.rpartition(".")[2] for name in gone_names()), _any("transformers !from_transformers")),
        *(_gone(name) for name in table().removed), (_any("next reinforce multinomial stft !autograd", *DATA),), (_any("fft"),), (_any("backward !first"),), (_any("optim !from_torch.optim"),), (_any("!nowhere"),),
        *_old(torchvision_gone.NAMES, "torchvision"), *_old(torchtext_gone.NAMES, "torchtext"), (frozenset().union((f"!from {name}" for name in table().removed), table().removed),),
    ),
    942: (
        (words(name for name in table().deprecated if name not in COMMON_INITS and not _NEEDS_MORE.search(name)) - {"range"} | {"!range", "meshgrid", "storage", "volatile", "!volatile", "!sum", *NUMBER_FIRST, *DATA},),
        (frozenset(name.rpartition(".")[2] for name in COMMON_INITS), _any("init")),
        (words(name for name in table().deprecated if ".sparse." in name), frozenset({"sparse", "!from torch.sparse"})),
        (words(name for name in table().deprecated if ".jit." in name), frozenset({"jit", "!from torch.jit"})),
        (_QUANTIZED, frozenset({"quantization", "tq", "quant", "!from torch.quantization", "!from torch.ao"})), (_QUANTIZED - _COMMON,),
        (_any("!reduced"),), (_any("saved_variables"), _any("!class")), (_any("!autograd"),),
        (_any("resize resize_as"), _any("!forward backward Variable from_numpy")),
        (_SCHEDULERS, _any("step get_lr")),
        (words(builders()) | {"!pretrained"}, frozenset({"torchvision"})),
    ),
}


def needs_of(rules: Iterable[Rule]) -> tuple[Need, ...]:
    """The alternatives of all active rules. A rule of which nothing is known needs everything: an empty alternative."""
    found: list[Need] = []
    for rule in rules:
        if rule.code in _CUSTOM:
            found.extend(_CUSTOM[rule.code])
        elif rule.lint == "custom":
            found.append(())
        for form in rule.forms.get("order", ()):
            words = [_EVENTS.get(form[key]) for key in ("after", "before", "forbidden") if key in form]
            found.append(tuple(item for item in words if item is not None))
        for form in rule.forms.get("trait", ()):
            found.append((_names(form["call"]),))
        for form in rule.forms.get("call", ()):
            names = _names([form["name"]] if isinstance(form["name"], str) else form["name"])
            found.append((names, _any("!class")) if form.get("inside") == "module" else (names,))
    return tuple(dict.fromkeys(found))


def _names(names: Iterable[str]) -> frozenset[str]:
    """The last parts of qualified names, and the functions behind loss classes."""
    return frozenset(name.rsplit(".", 1)[-1] for name in names)


class Met:
    """Tells of words whether some alternative is met. `words` are all that any of them asks for."""

    def __init__(self, needs: tuple[Need, ...]):
        self.words = frozenset().union(*(part for need in needs for part in need))
        self._enough = frozenset().union(*(need[0] for need in needs if len(need) == 1))  # each of these by itself
        # Of the others none is met where what the fewest texts have is not there: it is asked for first.
        self._several = tuple(sorted(need, key=len) for need in needs if len(need) != 1)

    def __call__(self, words: frozenset[str] | set[str]) -> bool:
        if not self._enough.isdisjoint(words):
            return True
        asked = words & self.words
        for need in self._several:
            for part in need:
                if part.isdisjoint(asked):
                    break
            else:
                return True
        return False
