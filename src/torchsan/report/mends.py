"""Words for what torch's errors are about: a name, a summary and the mend. A page in `rules/` has the better ones."""

from __future__ import annotations

# Pitfalls that are no errors of torch's, for as long as their pages are not there: name, summary, mend.
STAND_INS: dict[int, tuple[str, str, str]] = {
    407: (
        "non-contiguous-hot",
        "the same non-contiguous tensor goes into several layers in every step, and each copies it",
        "call `.contiguous()` once, where it was transposed",
    ),
}
# By number of the pitfall, or by a word of ours where no pitfall has a number for it.
MENDS: dict[int | str, tuple[str, str, str]] = {
    12: (
        "input-format",
        "an image has its channels last, and a convolution takes them first",
        "bring the channels to the front: `images.permute(0, 3, 1, 2)`",
    ),
    107: (
        "backward-twice",
        "the graph was freed by the first backward, and is needed once more",
        "add up the losses and call backward once, detach what is carried over from the step before, or pass "
        "`retain_graph=True` to the first backward if two are meant",
    ),
    108: (
        "backward-without-graph",
        "nothing that the loss was computed from requires a gradient",
        "look for no_grad, detach, .item(), argmax or a frozen model between the parameters and the loss",
    ),
    114: (
        "inplace-on-leaf",
        "a parameter is changed in place while autograd watches",
        "put the update under `torch.no_grad()`",
    ),
    115: (
        "inplace-breaks-backward",
        "a value that backward needs was changed in place after it was used",
        "write `x = x + y` instead of `x += y`, `x.relu()` instead of `x.relu_()`, or change a `.clone()`; step the "
        "optimizer after all backwards that need the old weights",
    ),
    117: (
        "detached-loss",
        "the model ran with gradients on, and nothing of its graph is left in the loss: it was cut on the way",
        "keep to tensors that carry the graph: no `torch.tensor(...)`, `.item()`, `.detach()`, `.numpy()` or `argmax` "
        "on the way from the model to the loss",
    ),
    139: (
        "plateau-without-metric",
        "ReduceLROnPlateau steps by a number",
        "`scheduler.step(val_loss)`, once an epoch",
    ),
    205: (
        "inference-tensor-in-training",
        "a tensor made under inference_mode is used where gradients are needed",
        "use `torch.no_grad()` there, or `.clone()` the tensor outside of inference_mode",
    ),
    306: (
        "wrong-target-dtype",
        "the loss wants its targets in another dtype",
        "class numbers are int64, `{value}.long()`; targets of binary losses are floats like the input, "
        "`{value}.float()`",
    ),
    307: (
        "target-out-of-range",
        "a target is no number of a class",
        "classes count from 0 to the last dimension of the output less one; use `ignore_index` for what has none",
    ),
    308: (
        "loss-shape",
        "output and target of the loss do not fit together",
        "of class losses, the class dimension comes second: (N, C) against (N), (N, C, L) against (N, L); losses that "
        "compare value by value take two of one shape: `output.squeeze(1)`",
    ),
    401: (
        "device-mismatch",
        "tensors on different devices meet in one operation",
        "move it first, `x = x.to(device)`, with the device that the rest was moved to",
    ),
    406: (
        "view-after-transpose",
        "view cannot merge dimensions that do not lie next to each other in memory",
        "use `.reshape(...)`, which copies when it has to, or `.contiguous().view(...)`",
    ),
    409: (
        "integer-features",
        "integers go into a layer that computes with floats",
        "convert them once, where they are made: `{value}.float()`",
    ),
    410: (
        "float64-creep",
        "float64 values meet a float32 model",
        "NumPy makes float64: convert where `{value}` is made, `torch.from_numpy(a).float()`",
    ),
    411: ("index-dtype", "an index has the wrong dtype", "indices are int64: `{value}.long()`"),
    414: (
        "write-to-expanded",
        "several elements of an expanded tensor share the memory that is written to",
        "`.clone()` what expand() gives before writing to it",
    ),
    416: (
        "numpy-needs-detach",
        "NumPy cannot take a tensor that has a graph or lives on a device",
        "write `x.detach().cpu().numpy()`",
    ),
    428: (
        "bad-einsum-pattern",
        "the pattern of einsum does not fit its operands",
        "each letter stands for one size: compare the letters with the shapes",
    ),
    508: (
        "shape-chain",
        "shapes do not fit one another",
        "print the shapes on the way, and make the layer as large as what comes in, or reshape what comes in",
    ),
    511: (
        "heads-divide",
        "the width of an attention layer is no multiple of its number of heads",
        "choose `embed_dim` (`d_model`) as a multiple of `num_heads` (`nhead`)",
    ),
    518: (
        "batchnorm-tiny-batch",
        "batch norm in training mode is given one value for each channel, which has no variance",
        "leave out the last, smaller batch (`drop_last=True` in the training loader); for a single sample, call "
        "`model.eval()` first",
    ),
    520: (
        "causal-mask",
        "`is_causal=True` is only a hint about the mask, which is not given: no causal mask is made",
        "pass `attn_mask=nn.Transformer.generate_square_subsequent_mask(length)` as well (`mask`, `src_mask` and "
        "`tgt_mask` are its names in the layers of a Transformer)",
    ),
    607: (
        "cuda-in-worker",
        "a worker process of a DataLoader uses CUDA, which does not survive the fork that made it",
        "give CPU tensors from the dataset and its collate_fn, and move the batch in the training loop",
    ),
    608: (
        "sampler-and-shuffle",
        "a DataLoader is told twice in which order samples come",
        "keep one: a sampler decides the order by itself (`shuffle=sampler is None`), a `batch_sampler` the batches too",
    ),
    612: (
        "loader-options",
        "an option for worker processes is given to a DataLoader that has none",
        "give it `num_workers` of 1 or more, or drop the option where there are none",
    ),
    615: (
        "collate-lengths",
        "samples of different sizes cannot be stacked to a batch",
        "pass a `collate_fn` that pads them (`torch.nn.utils.rnn.pad_sequence(xs, batch_first=True)`), or bring them "
        "to one size in the dataset",
    ),
    804: (
        "rank-as-device",
        "two processes of the group are on the same GPU: one of them was not told which is its own",
        "call `torch.cuda.set_device(local_rank)` first, with the `LOCAL_RANK` that torchrun sets",
    ),
    809: (
        "unused-parameters",
        "parameters of a model under DistributedDataParallel got no gradient",
        "use all parameters in the loss, freeze or remove the others, or pass `find_unused_parameters=True`",
    ),
    934: (
        "nondeterministic-op",
        "an operation has no deterministic implementation on this device, and the program asks for determinism",
        "use another operation, or `torch.use_deterministic_algorithms(True, warn_only=True)` where a warning will do",
    ),
    "collate": (
        "sample-of-unknown-type",
        "the samples of a dataset hold something that cannot be put into a batch",
        "look for a path of `__getitem__` that returns nothing; give tensors, arrays, numbers or strings, or pass a "
        "`collate_fn` for what is not to be batched",
    ),
    "memory": (
        "out-of-memory",
        "the device has no memory left",
        "smaller batches with gradient accumulation, autocast, or checkpointing; look for losses or outputs that are "
        "kept with their graph (TS106)",
    ),
    "range": (
        "index-out-of-range",
        "an index is larger than what it points into",
        "compare the largest index with the size: an embedding needs `num_embeddings` above the largest index, and "
        "the padding and special tokens of a tokenizer count too; one of positions, no fewer rows than the longest "
        "sequence has places",
    ),
}
