"""105: what is left over at the end of an epoch, where scripts say by arguments how long they accumulate."""

from tests.torchlint.dryrun.support import holds, table

LOOP = """
def main(args, loader, model):
    {before}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(args.epochs):
        for step, (x, y) in enumerate(loader):
            loss = F.cross_entropy(model(x), y)
            {body}
            if (step + 1) % args.accumulation_steps == 0:
                optimizer.step(){mark}
                optimizer.zero_grad()
"""
TOLD = "  # <- 105"


def program(body, mark=TOLD, before="pass"):
    return LOOP.format(body=body, mark=mark, before=before)


@table({
    "the loss is made in several ways": program("""if args.n_gpu > 1:
                loss = loss.mean()
            if args.accumulation_steps > 1:
                loss = loss / args.accumulation_steps
            loss.backward()"""),
    "a backward for each precision": program("""loss = loss / args.accumulation_steps
            if args.fp16:
                optimizer.backward(loss)
            else:
                loss.backward()"""),
    "with apex": "from apex import amp\n" + program("""loss = loss / args.accumulation_steps
            if args.fp16:
                with amp.scale_loss(loss, optimizer) as scaled:
                    scaled.backward()
                torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)
            else:
                loss.backward()"""),
    "the model comes from from_pretrained": "from missing import Tagger\n" + program("""loss = loss / args.accumulation_steps
            loss.backward()""", before="model = Tagger.from_pretrained(args.name)"),
    "not each batch goes backward": program("""loss = loss / args.accumulation_steps
            if torch.isfinite(loss):
                loss.backward()""", mark=""),
    "a call that is not seen is given the optimizer": program("""loss = loss / args.accumulation_steps
            loss.backward()
            finish(optimizer)""", mark=""),
})
def test_left_over(code):
    holds(code)
