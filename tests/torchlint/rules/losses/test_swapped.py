"""310: a target that is read from what the model's input is read from, and stands first."""

from tests.torchlint.dryrun.support import holds, table


@table({
    "of one object": """
def fit(model, data, batches, optimizer):
    out = model(data.x, data.edge_index)
    F.nll_loss(data.y[data.train_mask], out[data.train_mask]).backward()  # <- 310
    F.nll_loss(out[data.train_mask], data.y[data.train_mask]).backward()
    for batch in batches:
        F.cross_entropy(batch["label"].cuda(), model(batch["image"].cuda())).backward()  # <- 310
        F.cross_entropy(batch.y.view(-1), model(batch)).backward()  # <- 310
        F.cross_entropy(model(batch), batch.y.view(-1)).backward()
        optimizer.step()
        optimizer.zero_grad()
""",
    "of another, and what may stand there": """
def fit(model, other, teacher, batch):
    F.cross_entropy(other.y, model(batch.x)).backward()
    F.kl_div(batch.old, model(batch.x).exp()).backward()
    F.cross_entropy(other(batch.x), teacher(batch.x).softmax(1)).backward()
    F.cross_entropy(batch.scores, model(batch.x).argmax(1))
    F.cross_entropy(batch.scores, model(batch.x).max(1)[1])
    places = model(batch.x).topk(1)
    F.cross_entropy(batch.scores, places[1])
""",
})
def test_swapped(code):
    holds(code)
