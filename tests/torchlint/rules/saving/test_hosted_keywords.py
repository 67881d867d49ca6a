"""943: keywords of transformers' trainers and of accelerate that went before another one of the file came."""

from tests.torchlint.dryrun.support import holds, table
from torchlint.catalogue.hosted import Span, apart


@table({
    "one from each world": """
from transformers import TrainingArguments

def f():
    return TrainingArguments("out", no_cuda=True, evaluation_strategy="epoch", train_sampling_strategy="random")  # <- 943, 943
""",
    "another call says the release": """
from transformers import Trainer, TrainingArguments

def f(model, tok):
    args = TrainingArguments("out", train_sampling_strategy="random")
    return Trainer(model, args, tokenizer=tok)  # <- 943
""",
    "accelerate": """
from accelerate import Accelerator

def f():
    return Accelerator(fp16=True, deepspeed_plugins=None)  # <- 943
""",
    "an old release's project": """
from transformers import Trainer, TrainingArguments

def f(model, tok):
    args = TrainingArguments("out", evaluation_strategy="epoch", no_cuda=True, warmup_ratio=0.1, logging_dir="logs")
    return Trainer(model, args, tokenizer=tok)
""",
    "a release that takes both": """
from transformers import Trainer, TrainingArguments

def f(model, tok):
    args = TrainingArguments("out", evaluation_strategy="epoch", use_liger_kernel=True, average_tokens_across_devices=True)
    return Trainer(model, args, processing_class=tok, tokenizer=tok)
""",
    "ready for the error": """
from transformers import TrainingArguments

def f():
    try:
        return TrainingArguments("out", ddp_static_graph=True, no_cuda=True)
    except TypeError:
        return TrainingArguments("out", use_cache=False)
""",
})
def test_both_worlds(code):
    holds(code)


def test_what_came_in_the_step_in_which_another_went():
    assert not apart("transformers", Span("4.30", "4.50"), Span("4.53", "5.23"))  # 4.51 and 4.52 are not known
    assert apart("transformers", Span("4.30", "4.46"), Span("4.47", "5.23"))
