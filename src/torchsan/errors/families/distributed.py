"""Processes that work together: rendezvous, groups, collectives, DistributedDataParallel."""

from __future__ import annotations

from torchsan.errors.family import Family, Said, Seen
from torchsan.own import re, torch


def unused(text: str, seen: Seen) -> tuple[str, ...]:
    """The parameters that got no gradient, by name."""
    found = re.search(r"did not receive grad for rank \d+: ([\d ]+)", text)
    for one in seen.way if found else ():
        wrapper = one.frame.f_locals.get("self")
        if isinstance(wrapper, torch.nn.parallel.DistributedDataParallel):
            names = [name for name, p in wrapper.module.named_parameters() if p.requires_grad]
            left = [names[index] for index in map(int, found[1].split()) if index < len(names)]
            return (f"no gradient for {', '.join(left[:8])}{' ...' if len(left) > 8 else ''}",)
    return ()


def _timeout(seen: Seen) -> Said | None:
    """What a watchdog says of the collective that hung."""
    found = re.search(r"OpType=(\w+)", seen.text)
    count = re.search(r"SeqNum=(\d+)", seen.text)
    waited = re.search(
        r"Timeout\(ms\)=(\d+)|timed? ?out (?:after )?(\d+) ?(?:ms|milliseconds)", seen.text, re.IGNORECASE
    )
    facts = []
    if found is not None:
        facts.append(f"{found[1].lower()}{f' number {count[1]}' if count else ''}")
    if waited is not None:
        facts.append(f"after {int(waited[1] or waited[2]) / 1000:g} s")
    return Said((" ".join(facts),) if facts else ())


FAMILIES = (
    Family("", r"Duplicate GPU detected", number=804),
    Family("", r"Expected to have finished reduction in the prior iteration", number=809,
           look=lambda seen: Said(unused(seen.text, seen))),
    Family("no-process-group", r"Default process group has not been initialized", "processes are to talk, and no "
           "group was made", "`torch.distributed.init_process_group(\"gloo\")` first, in a program started by "
           "torchrun; for a single process, `if dist.is_initialized():`"),
    Family("rendezvous-environment", r"environment variable (?P<name>\w+) expected, but not set",
           "the program was not started by torchrun", "`torchrun --nproc_per_node=2 train.py`, which sets RANK, "
           "WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT", fact="{name} is not set"),
    Family("group-made-twice", r"trying to initialize the default process group twice", "the group of processes is "
           "made twice", "`if not dist.is_initialized():` before it"),
    Family("unknown-backend", r"Unknown backend type (?P<name>\w+)|Invalid backend: '(?P<other>\w+)'",
           "there is no such backend", "\"nccl\" for GPUs, \"gloo\" for CPUs", inside=r"distributed_c10d\.py:"),
    Family("no-nccl", r"Distributed package doesn't have NCCL built in|ProcessGroupNCCL is only supported with GPUs, "
           r"no GPUs found", "NCCL is asked for, and there is no GPU or this torch is built without it",
           "`\"nccl\" if torch.cuda.is_available() else \"gloo\"`"),
    Family("port-taken", r"(EADDRINUSE|address already in use|failed to (bind|listen on any local network address))",
           "the port of the rendezvous is taken, mostly by a run that has not ended", "end the other one, or "
           "`torchrun --master_port=29501`; `--standalone` finds a free one"),
    Family("rendezvous-timeout", r"client socket has timed out after (?P<n>\d+) ?ms while trying to connect to "
           r"\((?P<where>.*?)\)|Timed out after \d+ seconds waiting for clients|timed out waiting for clients",
           "the processes did not find one another", "the process of rank 0 must run, under this MASTER_ADDR and "
           "MASTER_PORT, and all WORLD_SIZE of them be started",
           look=lambda seen: Said((f"{seen.match['where']} did not answer",)) if seen.match.groupdict().get("where") else None),
    Family("collective-timeout", r"Watchdog caught collective operation timeout|Timed out waiting \d+ms for "
           r"(send|recv) operation|Wait timeout|Application timeout caused pair closure|collective operation timed out",
           "a process waited in vain for the others", "all ranks must call the same collectives in the same order: "
           "look for `if rank == 0:` around a forward, a save or a barrier, for loaders of different lengths, and for "
           "a rank that has ended", look=_timeout),
    Family("peer-lost", r"Connection (closed|reset) by peer|Connection refused|Broken pipe|NCCL error.*remote process "
           r"exited", "another process of the group has ended", "its own error is the first one: look at the output "
           "of the other ranks", inside=r"distributed|nn/parallel|autograd/graph\.py"),
    Family("nccl-error", r"(NCCL error|ncclUnhandledCudaError|ncclSystemError|ncclInternalError|ncclInvalidUsage)",
           "NCCL failed", "`NCCL_DEBUG=INFO` tells why: mostly two ranks on one GPU, memory, or the network"),
    Family("nothing-to-distribute", r"DistributedDataParallel is not needed when a module doesn't have any parameter "
           r"that requires a gradient", "the model that is wrapped has nothing to train", "unfreeze before wrapping, "
           "or leave frozen models unwrapped"),
    Family("wrapped-on-other-device", r"DistributedDataParallel device_ids and output_device arguments only work with "
           r".*and module parameters (?P<where>.*?)\.$", "the model is not on the GPU that `device_ids` names",
           "`model.to(local_rank)` before wrapping; on CPUs, no `device_ids`", fact="its parameters are on {where}"),
    Family("different-models", r"DDP expects same model across all ranks|params? sizes? "
           r".*(mismatch|inconsistent)|appears not to match (sizes|strides) of the same param in process 0",
           "the ranks have different models", "make it from the same settings everywhere, the same layers frozen"),
    Family("parameter-ready-twice", r"Expected to mark a variable ready only once", "a parameter is used twice in one "
           "backward of DistributedDataParallel", "with checkpointing, `use_reentrant=False`; or `static_graph=True`"),
    Family("collective-sizes", r"(?P<call>\w+): invalid tensor size at index (?P<at>\d+) \(expected \((?P<a>[\d, "
           r"]*)\), got \((?P<b>[\d, ]*)\)", "the tensors of a collective differ in size", "all ranks give tensors of "
           "one shape: pad, or gather the sizes first", fact="({a}) is wanted, ({b}) was given"),
    Family("collective-lists", r"invalid output tensor list at index (?P<at>\d+) \(expected length (?P<a>\d+), got "
           r"(?P<b>\d+)\)|Incorrect (input|output) list size (?P<c>\d+)", "a collective takes a list of one tensor a "
           "rank", "`[torch.empty_like(x) for _ in range(dist.get_world_size())]`"),
    Family("collective-of-no-tensor", r"Expected parameter `(?P<name>\w+)` of type torch\.Tensor\s+but got <class "
           r"'(?P<type>[\w.]+)'>", "a collective is given something that is no tensor", "`torch.tensor(value)`; for "
           "objects, `dist.all_gather_object`", fact="it is of type {type}"),
    Family("no-such-rank", r"invalid root rank: (?P<n>\d+)|Global rank (?P<m>\d+) is not part of group",
           "a collective names a rank that is not there", "ranks count from 0 to the world size less one"),
    Family("child-failed", r"(process (?P<n>\d+) (terminated with the following error|terminated with (signal|exit "
           r"code).*))", "a process that was spawned failed", "its own error stands above or below this one"),
)
