"""What torch's functions and tensor methods do to the traits of tensors, as tables."""

from __future__ import annotations

import re

# Where the name of a function or method is enough to know the activation of its result.
ACTIVATIONS = {
    "softmax": "softmax",
    "softmin": "softmax",
    "gumbel_softmax": "softmax",
    "log_softmax": "log_softmax",
    "sigmoid": "sigmoid",
    "sigmoid_": "sigmoid",
    "logsigmoid": "logsigmoid",
    "relu": "relu",
    "relu_": "relu",
    "tanh": "tanh",
    "tanh_": "tanh",
}
LAYER_ACTIVATIONS = {
    "torch.nn.Softmax": "softmax",
    "torch.nn.Softmin": "softmax",
    "torch.nn.Softmax2d": "softmax",
    "torch.nn.LogSoftmax": "log_softmax",
    "torch.nn.Sigmoid": "sigmoid",
    "torch.nn.LogSigmoid": "logsigmoid",
    "torch.nn.ReLU": "relu",
    "torch.nn.Tanh": "tanh",
}
# The values stay the same numbers, seen in another shape, place or type.
KEEPS = frozenset(
    """view reshape squeeze unsqueeze flatten unflatten permute transpose t contiguous to cuda cpu float half double bfloat16
    type type_as clone narrow select index_select chunk split unbind movedim swapaxes swapdims view_as reshape_as
    requires_grad_ pin_memory squeeze_ unsqueeze_ masked_select gather clamp clamp_ clip clamp_min expand expand_as
    nan_to_num data detach detach_ variable""".split()
)
# Of these, what makes a number of a number, too.
KEEPS_NUMBERS = frozenset("squeeze contiguous to cuda cpu float half double bfloat16 clone requires_grad_ clamp detach".split())
# A Python number, list, ndarray or storage: no tensor any more, and nothing of its graph.
# What each is, as far as anybody asks: "number", no tensor; "numbers" too where it is many of them, an array or a list.
LEAVES_TORCH = {
    **dict.fromkeys(
        """item dim numel ndimension get_device element_size is_contiguous nelement data_ptr backward register_hook retain_grad
        storage typed_storage untyped_storage""".split(), frozenset({"number"})
    ),
    **dict.fromkeys(("numpy", "tolist", "size", "stride"), frozenset({"number", "numbers"})),
}
# Results that carry no autograd graph whatever they were computed from.
CUTS_GRAPH = frozenset({"detach", "detach_", "argmax", "argmin", "argsort", "data", "eq", "ne", "gt", "lt", "ge", "le", "bool",
                        "long", "int", "short", "byte", "isnan", "isinf", "isfinite", "sign", "round_", "nonzero", "bincount",
                        "one_hot", "multinomial", "zeros_like", "ones_like", "empty_like", "rand_like", "randn_like",
                        "full_like", "new_zeros", "new_ones", "new_empty", "new_full", "new_tensor", "bernoulli"})
# Fewer dimensions than before, perhaps none.
REDUCES = frozenset({"sum", "mean", "prod", "norm", "std", "var", "all", "any", "argmax", "argmin", "amax", "amin", "max", "min",
                     "median", "logsumexp", "count_nonzero", "numel", "dot", "select", "trace", "nansum", "nanmean"})
# Tensors made from nothing: on the default device unless `device=` says otherwise.
# Functions, and the layers that call them, whose derivative is written in terms of their result: that is what they keep.
KEEP_RESULT = frozenset(
    """exp expm1 sqrt rsqrt reciprocal sigmoid tanh softmax log_softmax relu Sigmoid Tanh Softmax LogSoftmax ReLU""".split()
)
CREATES = frozenset(
    """tensor zeros ones empty full rand randn randint randperm arange linspace logspace eye as_tensor from_numpy normal
    tril_indices triu_indices Tensor FloatTensor LongTensor DoubleTensor IntTensor ByteTensor BoolTensor HalfTensor
    zeros_like ones_like empty_like full_like rand_like randn_like randint_like hann_window complex scalar_tensor""".split()
)
LIKE = frozenset({"zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "randint_like"})
# In-place methods: the receiver itself changes.
INPLACE = frozenset(
    """add_ sub_ mul_ div_ pow_ zero_ fill_ copy_ clamp_ clamp_min_ clamp_max_ uniform_ normal_ exp_ log_ sqrt_ relu_ sigmoid_ tanh_ addcmul_
    addcdiv_ lerp_ masked_fill_ scatter_ scatter_add_ index_fill_ index_copy_ index_add_ random_ bernoulli_ neg_ abs_ floor_
    ceil_ round_ t_ transpose_ squeeze_ unsqueeze_ fill_diagonal_ eye_ exponential_ erfinv_ renorm_ trunc_""".split()
)
# Methods that only tensors have and that return a new tensor: as a statement of their own they do nothing.
PURE_TENSOR_ONLY = frozenset(
    """unsqueeze squeeze permute contiguous view reshape clamp clamp_min clamp_max detach masked_fill type_as view_as expand_as flatten
    scatter_add index_fill index_select sigmoid softmax log_softmax relu""".split()
)
# Functions of torch's that give each value of a tensor, or its place, anew: as a statement of their own they do nothing,
# unless they are shown or timed.
PURE_FUNCTIONS = frozenset(
    """fmod remainder abs neg exp expm1 log log2 log10 log1p sqrt rsqrt square reciprocal floor ceil round trunc frac sign sin cos tan tanh
    pow add sub mul div true_divide threshold renorm triu tril flip fliplr flipud roll nan_to_num softmax log_softmax index_fill index_add
    index_copy scatter scatter_add masked_scatter movedim moveaxis swapaxes swapdims broadcast_to
    addcmul addcdiv lerp cumsum logical_not""".split()
)
# Methods whose result is a tensor, if it has a method `to` or `float` at all.
ONLY_TENSORS_GIVE = frozenset("long int short byte char bool argmax argmin argsort eq ne gt lt ge le resize_".split())
# Methods that tensors share with modules, which they change in place.
PURE_IF_TENSOR = frozenset({"to", "cuda", "cpu", "float", "double", "half", "bfloat16", "long", "int", "type", "requires_grad"})

# Layers with parameters.
LAYERS = frozenset(
    """Linear Bilinear Embedding EmbeddingBag LSTM GRU RNN LSTMCell GRUCell RNNCell Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d
    ConvTranspose3d BatchNorm1d BatchNorm2d BatchNorm3d LayerNorm GroupNorm PReLU MultiheadAttention Transformer
    TransformerEncoderLayer TransformerDecoderLayer Sequential ModuleList""".split()
)
# Names that were meant to be those of Python's protocol.
MISSPELT = {
    "__get_item__": "__getitem__", "__getitem": "__getitem__", "_getitem__": "__getitem__", "_getitem_": "__getitem__",
    "__getItem__": "__getitem__", "__get__item__": "__getitem__", "__item__": "__getitem__", "getitem": "__getitem__",
    "__lenght__": "__len__", "__length__": "__len__", "__len": "__len__", "_len__": "__len__", "_len_": "__len__",
    "__Len__": "__len__", "__size__": "__len__",
}

# Methods whose second argument is a tensor of indices.
INDEXED = frozenset({"gather", "scatter", "scatter_", "scatter_add", "scatter_add_", "index_select", "index_add", "index_add_", "index_fill",
                     "index_fill_", "index_copy_"})

LOSS_FUNCTIONS = frozenset(
    """cross_entropy nll_loss binary_cross_entropy binary_cross_entropy_with_logits mse_loss l1_loss smooth_l1_loss huber_loss
    kl_div cosine_embedding_loss margin_ranking_loss triplet_margin_loss hinge_embedding_loss multi_margin_loss
    multilabel_margin_loss multilabel_soft_margin_loss soft_margin_loss poisson_nll_loss gaussian_nll_loss ctc_loss""".split()
)
LOSS_OF_CLASS = {
    "CrossEntropyLoss": "cross_entropy",
    "NLLLoss": "nll_loss",
    "NLLLoss2d": "nll_loss",
    "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "MSELoss": "mse_loss",
    "L1Loss": "l1_loss",
    "KLDivLoss": "kl_div",
}
# Objects that have their keywords as attributes, and nothing else.
NAMESPACES = frozenset({"types.SimpleNamespace", "argparse.Namespace", "easydict.EasyDict", "munch.Munch", "box.Box"})
# What project code and known libraries wrap around an iterable without changing its items.
PASSES_ITEMS = frozenset({"tqdm", "trange", "track", "iter", "list", "tuple", "sorted", "reversed", "islice", "cycle", "progress_bar",
                          "MetricLogger.log_every", "log_every", "notebook.tqdm", "master_bar"})
# ... and what else is called so that it shows how far a loop has come.
SHOWS_PROGRESS = re.compile(r"progress|tqdm|^p?bar$|_p?bar$|^track(?:_|$)|log_every|(?:^|_)eta(?:_|$)")
# Layers that are made for an input of one size.
SIZED = frozenset(
    """Linear Embedding LSTM GRU RNN Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d BatchNorm1d BatchNorm2d
    BatchNorm3d LayerNorm GroupNorm MultiheadAttention""".split()
)

# Functions of torch's that answer yes or no: `torch.cuda.is_available`.
ANSWERS = frozenset("is_available is_initialized is_built is_bf16_supported is_grad_enabled is_inference_mode_enabled".split())

# Methods that give the numbers of a tensor as an array or a list, and those that a tensor goes through on the way there.
ARRAYS = frozenset({"numpy", "tolist"})
WAYS_OUT = ARRAYS | {"cpu", "detach"}
READS = WAYS_OUT | {"item", "clone"}  # all of them methods, which give something when they are called

# Functions and methods that give values, and the places where they stood.
PAIRS = frozenset({"max", "min", "topk", "sort", "median", "mode"})
