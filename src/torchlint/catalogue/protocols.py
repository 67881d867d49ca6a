"""What the libraries on top of PyTorch do with the code that is written for them, in tables: which methods they call and how,
what their functions and objects give, what their settings decide. docs/frameworks.md says how to add a row.

Names are those that a program imports; a pattern takes the modules in between, which move from release to release.
"""

from __future__ import annotations

import re
from collections.abc import Container
from functools import lru_cache
from typing import NamedTuple

# -- methods that a library calls -------------------------------------------------------------------------------------

LIGHTNING = "lightning.LightningModule"
DATA_MODULE = "lightning.LightningDataModule"
CALLBACK = re.compile(r"^(?:pytorch_lightning|lightning)\.(?:\w+\.)*Callback$")
TRAINER = re.compile(
    r"^(?:transformers\.(?:\w+\.)*(?:Seq2Seq)?Trainer|trl\.(?:\w+\.)*[A-Z]\w*Trainer"
    r"|sentence_transformers\.(?:\w+\.)*\w*Trainer)$"
)


class Hook(NamedTuple):
    """How a framework calls a method: the mode that the model is in, whether autograd records, whether it is called
    again and again, and what it does with the result: "loss" (backward and step), "data" (trains on the loader)."""

    mode: bool | None = None
    grad: bool | None = None
    loop: bool = False
    result: str = ""
    model: str = ""  # the parameter that is the model, where it is not the object itself


_TRAINS = Hook(True, True, True)
_EVALUATES = Hook(False, False, True)
_AFTER = Hook(False, False)
_STAGES = ("validation", "test", "predict")
LIGHTNING_HOOKS = {
    "training_step": Hook(True, True, True, "loss"),
    "train_dataloader": Hook(result="data"),
    **dict.fromkeys(("on_train_batch_start", "on_train_batch_end", "training_step_end"), _TRAINS),
    **dict.fromkeys(("validation_step", "test_step", "predict_step"), _EVALUATES),
    **dict.fromkeys(("validation_step_end", "test_step_end"), _EVALUATES),
    **{f"on_{stage}_batch_{end}": _EVALUATES for stage in _STAGES for end in ("start", "end")},
    **{f"on_{stage}_{end}": _AFTER for stage in _STAGES for end in ("start", "end", "epoch_start", "epoch_end")},
    "validation_epoch_end": _AFTER,
    "test_epoch_end": _AFTER,
}
TRAINER_HOOKS = {
    "compute_loss": Hook(True, True, True, "loss", "model"),
}
# What a method does beside what is written in it, in the words by which rules are chosen.
IMPLIED = {
    "training_step": frozenset({"backward", "step", "zero_grad"}),
    "compute_loss": frozenset({"backward", "step", "zero_grad"}),
    "manual_backward": frozenset({"backward"}),
    "train_dataloader": frozenset({"step"}),
}
# Called by Lightning on the object before all loaders and steps.
_SETS_UP = frozenset({"prepare_data", "setup"})
# What Lightning calls with a batch that it has put on the model's device.
LIGHTNING_STEPS = frozenset({"training_step", "validation_step", "test_step", "predict_step"})


def sets_up(bases: Container[str], method: str) -> bool:
    """Whether a method, of a class with these bases, is called before whatever else its framework calls."""
    return method in _SETS_UP and (LIGHTNING in bases or DATA_MODULE in bases)


# Called by Lightning on the object itself; neither calls of the model nor of its layers.
LIGHTNING_METHODS = frozenset(
    """log log_dict print save_hyperparameters all_gather toggle_optimizer untoggle_optimizer toggled_optimizer
    lr_scheduler_step load_from_checkpoint to_onnx to_torchscript""".split()
)

# -- Accelerate's Accelerator and Lightning's Fabric ------------------------------------------------------------------

# What each method does:
#   same       gives back what it is given, in its order: models, optimizers and loaders stay the same objects
#   backward   computes the gradients of a loss, scaled and divided as the object was told
#   accumulate a context in which `step` and `zero_grad` of prepared optimizers, and the exchange of gradients, happen at the
#              end of an accumulation alone
#   context    another context, which changes nothing that is asked here
#   clip       clips gradients, which it unscales first
#   first      gives back its first argument
#   gather     gives what all processes have
#   state      writes, reads or registers the state of all that was prepared
#   write      writes its first argument to a file
#   weights    gives the state_dict of its first argument
#   apart      nothing that is asked here
DRIVER_METHODS = {
    **dict.fromkeys(
        """prepare prepare_model prepare_optimizer prepare_scheduler prepare_data_loader setup setup_module setup_optimizers
        setup_dataloaders""".split(),
        "same",
    ),
    "backward": "backward",
    "accumulate": "accumulate",
    **dict.fromkeys(
        """no_sync autocast no_backward_sync profile main_process_first local_main_process_first on_main_process
        on_local_main_process join_uneven_inputs init_module rank_zero_first init_tensor split_between_processes""".split(),
        "context",
    ),
    **dict.fromkeys("clip_grad_norm_ clip_grad_value_ clip_gradients".split(), "clip"),
    **dict.fromkeys(("unwrap_model", "skip_first_batches"), "first"),
    **dict.fromkeys("gather gather_for_metrics reduce pad_across_processes".split(), "gather"),
    **dict.fromkeys("save_state load_state register_for_checkpointing".split(), "state"),
    "save": "write",
    "get_state_dict": "weights",
    **dict.fromkeys("wait_for_everyone init_trackers end_training log get_tracker free_memory".split(), "apart"),
}
# Objects that are called by these names and asked for these things are taken for such a driver.
DRIVER_NAME = re.compile(r"accelerat|fabric", re.IGNORECASE)
_TELLING = {"same", "accumulate", "context", "clip", "first", "gather"}
DRIVES = frozenset(name for name, does in DRIVER_METHODS.items() if does in _TELLING) - {"setup", "reduce", "gather"}

# -- functions and methods that make or change models -----------------------------------------------------------------


class Made(NamedTuple):
    """What a call gives. `gives`: "model" (a module, with nothing around it), "adapted" (the model in the first argument, its
    parameters frozen and new ones put in), "same" (its first argument). `mode`: True in training mode, False in evaluation
    mode. `trains`: the argument without which all of an adapted model is frozen; "" where the adapters train."""

    gives: str
    mode: bool | None = None
    trains: str = ""


_MADE = (
    (r"(?:transformers|diffusers|pytorch_transformers|pytorch_pretrained_bert)\.(?:\w+\.)*\w*\.from_pretrained", Made("model", False)),
    (r"transformers\.(?:\w+\.)*\w*\.(?:from_config|_from_config)", Made("model", True)),
    (r"peft\.(?:\w+\.)*AutoPeftModel\w*\.from_pretrained", Made("model", False, "is_trainable")),
    (r"peft\.(?:\w+\.)*(?:get_peft_model|inject_adapter_in_model)", Made("adapted")),
    (r"peft\.(?:\w+\.)*PeftModel\w*\.from_pretrained", Made("adapted", False, "is_trainable")),
    (r"peft\.(?:\w+\.)*prepare_model_for_(?:kbit|int8)_training", Made("same")),
)
_MADE_BY = tuple((re.compile(f"^{pattern}$"), made) for pattern, made in _MADE)
# Classes that have a from_pretrained, too, and are no models.
NOT_MODELS = re.compile(r"Tokenizer|Processor|Config|Extractor|Scheduler|Pipeline")
# Methods that put new parameters into a model that an optimizer may already have. (`resize_token_embeddings` gives
# new values to the embedding that is there; a new parameter has only a head that is not tied to it.)
GROWS = {
    "add_adapter": "is frozen and gets an adapter",
    "set_output_embeddings": "gets another output layer",
    "set_input_embeddings": "gets another embedding",
    "resize_token_embeddings": "gets another output layer, since its own is not tied to the embedding",
}
# Configurations whose output layer is not tied to the embedding where nothing is said of it.
UNTIED = re.compile(r"^transformers\.(?:\w+\.)*(?:Llama|Mistral|Mixtral|Qwen2|Qwen3|Phi|Phi3|GPTNeoX|Olmo|StableLm)Config$")


@lru_cache(maxsize=1024)
def made_by(name: str) -> Made | None:
    """What a call of that qualified name gives; None where no table says."""
    if name.startswith(("transformers.", "diffusers.", "peft.", "pytorch_")) and not NOT_MODELS.search(name):
        return next((made for pattern, made in _MADE_BY if pattern.match(name)), None)
    return None


# -- models -----------------------------------------------------------------------------------------------------------

# Given `labels=`, these compare place n of their output with label n + 1: the shift is theirs.
SHIFTS_LABELS = re.compile(r"(?:ForCausalLM|LMHeadModel|LMHead|ForConditionalGenerationCausal)$")
# Families that have no dropout and no batch norm as they are configured, or next to none: training and evaluation mode are the
# same to them.
WITHOUT_DROPOUT = re.compile(
    r"llama|mistral|mixtral|qwen|gemma|phi|falcon|olmo|bloom|neox|pythia|gpt-?neo|mamba|stablelm|deepseek|smollm|vicuna|alpaca"
    r"|granite|cohere|starcoder2|yi-|mpt|vit|clip|siglip|dino|resnet|convnext|swin|deit|segformer|detr|whisper|sam-",
    re.IGNORECASE,
)

# Families that have dropout as they are configured, and tasks whose models mostly are of these.
WITH_DROPOUT = re.compile(
    r"bert|electra|gpt2|bart|(?<![a-z])m?t5|pegasus|marian|opus-mt|xlm|xlnet|longformer|bigbird|opt-\d|mpnet|ernie|nllb|m2m|wav2vec|hubert",
    re.IGNORECASE,
)
TASKS_WITH_DROPOUT = re.compile(r"AutoModelFor(?:SequenceClassification|TokenClassification|QuestionAnswering|MultipleChoice|MaskedLM|Seq2SeqLM)")

# -- evaluation on several processes ------------------------------------------------------------------------------------

# A program that cuts off itself what Accelerate has added to fill up the last round; and names of what a metric is made of.
CUTS_DUPLICATES = re.compile(r"samples_seen|remainder|gather_for_metrics|even_batches|\[\s*:\s*(?:len\(|n_|num_|total|\w*size)|\bset\(|unique|dedup")
PREDICTIONS = re.compile(r"pred|label|logit|target|answer|output|refer|score", re.IGNORECASE)

# -- transformers' Trainer and those that derive from it ----------------------------------------------------------------

_REST = "data_collator train_dataset eval_dataset processing_class"
# The arguments in their order, by the trainer's name; "" is any other.
TRAINER_ARGUMENTS = {
    "": f"model args {_REST} model_init compute_loss_func compute_metrics callbacks optimizers".split(),
    "SFTTrainer": f"model args {_REST} compute_loss_func compute_metrics callbacks optimizers".split(),
    "RewardTrainer": f"model args {_REST} compute_metrics callbacks optimizers".split(),
    "DPOTrainer": f"model ref_model args {_REST} compute_metrics callbacks optimizers".split(),
    "GRPOTrainer": "model reward_funcs args train_dataset eval_dataset processing_class".split(),
    "RLOOTrainer": "model reward_funcs args train_dataset eval_dataset processing_class".split(),
}


class Setting(NamedTuple):
    """A setting of TrainingArguments: its value where it is not given, what it decides, and what it was called before."""

    default: object
    decides: str
    before: tuple[str, ...] = ()


SETTINGS = {
    "eval_strategy": Setting("no", "whether an evaluation runs while it trains", ("evaluation_strategy",)),
    "do_eval": Setting(False, "nothing by itself: eval_strategy does"),
    "gradient_accumulation_steps": Setting(1, "after how many batches the optimizer steps"),
    "fp16": Setting(False, "whether autocast and a GradScaler are around the step"),
    "bf16": Setting(False, "whether autocast is around the step"),
    "label_names": Setting(None, "which columns are labels, where the model's forward does not tell"),
    "remove_unused_columns": Setting(True, "whether columns that forward does not take are dropped"),
    "gradient_checkpointing": Setting(None, "whether activations are computed again in the backward"),
    "max_grad_norm": Setting(1.0, "to which norm gradients are clipped; 0: they are not"),
    "load_best_model_at_end": Setting(False, "whether the best checkpoint is loaded when the training ends"),
    "save_strategy": Setting("steps", "when checkpoints are written"),
    "save_only_model": Setting(False, "whether checkpoints are weights alone, with nothing to resume from"),
    "prediction_loss_only": Setting(False, "whether an evaluation gives nothing but the loss"),
    "packing": Setting(False, "whether several texts share a row (SFTConfig)"),
    "completion_only_loss": Setting(None, "whether the prompt counts for the loss (SFTConfig)"),
    "assistant_only_loss": Setting(False, "whether all but the assistant's turns is masked (SFTConfig)"),
}
# What trl's configs have defaults of their own for: where it is not given, it is not known.
TRL_SETS = frozenset({"bf16", "gradient_checkpointing", "remove_unused_columns"})
SETTINGS_CLASS = re.compile(
    r"^(?:transformers\.(?:\w+\.)*(?:Seq2Seq)?TrainingArguments|trl\.(?:\w+\.)*[A-Z]\w*Config|sentence_transformers\.(?:\w+\.)*\w*TrainingArguments)$"
)

# -- data collators -----------------------------------------------------------------------------------------------------

# What each makes of the labels:
#   pads by id  copies the inputs and masks every place that holds the pad token's id
#   pads by row pads the labels that it is given with -100, where it padded the inputs
#   not         pads the inputs; labels are left as they are
COLLATORS = {
    "DataCollatorForLanguageModeling": "pads by id",
    "DataCollatorForCompletionOnlyLM": "pads by id",
    "DataCollatorForSeq2Seq": "pads by row",
    "DataCollatorForTokenClassification": "pads by row",
    "DataCollatorWithPadding": "not",
    "default_data_collator": "not",
    "DefaultDataCollator": "not",
}
_COLLATOR = re.compile(r"^(?:transformers|trl)\.(?:\w+\.)*(\w+)$")


def collator(name: str) -> str:
    """What a collator of that qualified name makes of the labels; "" where it is none of the table.
    trl's own, of the same name, knows from the rows where padding is."""
    found = _COLLATOR.match(name)
    made = COLLATORS.get(found[1], "") if found is not None else ""
    return "pads by row" if found is not None and name.startswith("trl.") and found[1] == "DataCollatorForLanguageModeling" else made


# What a tokenizer pads with, and what it ends a text with: the one is often given to the other.
PAD_NAMES = {"pad_token": "eos_token", "pad_token_id": "eos_token_id"}

# -- datasets ------------------------------------------------------------------------------------------------------------

# Functions that give a table of rows, and methods of one that give another one.
TABLES = re.compile(r"^datasets\.(?:\w+\.)*(?:load_dataset|load_from_disk|concatenate_datasets|interleave_datasets|Dataset\.from_\w+)$")
TABLE_METHODS = frozenset(
    """map filter shuffle select sort shard skip take rename_column rename_columns remove_columns select_columns add_column cast
    cast_column with_format with_transform flatten train_test_split""".split()
)
FORMATS = frozenset({"set_format", "set_transform", "reset_format"})  # change the table that they are called on
