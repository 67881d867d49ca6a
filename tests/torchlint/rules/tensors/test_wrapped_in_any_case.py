"""401: a model that an option leaves on the CPU, in a DataParallel that goes by the number of GPUs alone."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
import argparse
import os
from somewhere import Net, batches

parser = argparse.ArgumentParser()
{switch}
args = parser.parse_args()
{made}

def main():
    model = Net()
    {before}
    {wrap}
        model = nn.DataParallel(model){mark}
    {after}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in batches():
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

main()
"""
SWITCH = 'parser.add_argument("--no-cuda", action="store_true")'
MADE = 'device = torch.device("cuda" if torch.cuda.is_available() and not args.no_cuda else "cpu")'
TO, COUNT = "model.to(device)", "if torch.cuda.device_count() > 1:"


def program(before=TO, wrap=COUNT, after="", made=MADE, switch=SWITCH, told=False):
    return PROGRAM.format(before=before, wrap=wrap, after=after, made=made, switch=switch, mark="  # <- 401" if told else "")


@table({
    "moved before": program(told=True),
    "moved behind": program("", after=TO, told=True),
    "what it gives": program("model = model.to(device)", told=True),
    "always": program(wrap="with torch.enable_grad():", told=True),
    "where there is a GPU, too": program(wrap="if torch.cuda.is_available() and torch.cuda.device_count() > 1:", told=True),
    "counted before": program(wrap="if n_gpu > 1:", made=f"{MADE}\nn_gpu = torch.cuda.device_count()", told=True),
    "on an object": program("model.to(args.device)", "if args.n_gpu > 1:", made=f"args.{MADE}\nargs.n_gpu = torch.cuda.device_count()", told=True),
    "asked of another name": program(
        made='use_cuda = not args.no_cuda and torch.cuda.is_available()\ndevice = torch.device("cuda" if use_cuda else "cpu")', told=True),
    "moved where the option says so": program("if not args.no_cuda:\n        model.cuda()", told=True),
    "two devices": program(made='device = torch.device("cpu") if args.no_cuda else torch.device("cuda")', told=True),
    "one of several processes": program(
        wrap="if args.local_rank != -1:\n        model = nn.parallel.DistributedDataParallel(model)\n    elif n_gpu > 1:",
        switch=SWITCH + '\nparser.add_argument("--local_rank", type=int, default=-1)', made="""if args.local_rank == -1 or args.no_cuda:
    device = torch.device("cuda" if torch.cuda.is_available() and not args.no_cuda else "cpu")
    n_gpu = torch.cuda.device_count()
else:
    device = torch.device("cuda", args.local_rank)
    n_gpu = 1""", told=True),
    "where it is asked for, too": program(wrap="if not args.no_cuda and torch.cuda.device_count() > 1:"),
    "the count asks, too": program(wrap="if n_gpu > 1:", made=f"{MADE}\nn_gpu = 0 if args.no_cuda else torch.cuda.device_count()"),
    "the count is set to none": program(wrap="if n_gpu > 1:", made=f"{MADE}\nn_gpu = torch.cuda.device_count()\nif args.no_cuda:\n    n_gpu = min(n_gpu, 0)"),
    "how many is an option": program(wrap="if args.n_gpu > 1:", switch=f'{SWITCH}\nparser.add_argument("--n_gpu", type=int, default=1)'),
    "asked for by another option": program(wrap="if args.parallel:", switch=f'{SWITCH}\nparser.add_argument("--parallel", action="store_true")'),
    "of the device": program(wrap='if device.type == "cuda":'),
    "a comment alone": program(made=f'# os.environ["CUDA_VISIBLE_DEVICES"] = "0"\n{MADE}', told=True),
    "where one alone is seen": program(made=f'os.environ["CUDA_VISIBLE_DEVICES"] = "0"\n{MADE}'),
    "the machine says": program(made='device = torch.device("cuda" if torch.cuda.is_available() else "cpu")'),
    "moved besides": program(after="model.cuda()"),
    "not moved here": program(""),
    "the program ends without it": program(
        made='device = torch.device("cuda" if args.cuda else "cpu")\nif not args.cuda:\n    raise SystemExit("needs a GPU")',
        switch='parser.add_argument("--cuda", action="store_true")'),
    "called only with it": program(wrap=COUNT).replace("\nmain()", "\nif not args.no_cuda:\n    main()"),
    "on one": program().replace("DataParallel(model)", "DataParallel(model, device_ids=[0])"),
    "no option": program(switch=""),
})
def test_the_option_is_forgotten(code):
    holds(code)
