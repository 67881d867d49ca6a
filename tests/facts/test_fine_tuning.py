"""What the pages of area 0 and the tables of catalogue/protocols.py say of transformers, PEFT, Accelerate and TRL."""

import inspect

import pytest
import torch
import torch.nn.functional as F

transformers = pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

from torchlint.catalogue.protocols import DRIVER_METHODS, SETTINGS, SHIFTS_LABELS, TRAINER_ARGUMENTS, TRL_SETS, UNTIED  # noqa: E402

IDS = torch.arange(16).reshape(2, 8) % 11 + 1


def gpt2(**more):
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_layer=2, n_head=2, n_embd=16, vocab_size=20, n_positions=16, bos_token_id=0, eos_token_id=0, **more)
    return transformers.GPT2LMHeadModel(config)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder with a tiny model, and one with an adapter for it."""
    folder = tmp_path_factory.mktemp("gpt2")
    model = gpt2()
    model.save_pretrained(folder)
    peft.get_peft_model(model, lora()).save_pretrained(folder / "adapter")
    return folder


def lora(**more):
    return peft.LoraConfig(task_type="CAUSAL_LM", target_modules=["c_attn"], fan_in_fan_out=True, **more)


def trained(model):
    return [name for name, parameter in model.named_parameters() if parameter.requires_grad]


def test_from_pretrained_gives_evaluation_mode_and_from_config_training_mode(saved):
    model = transformers.AutoModelForCausalLM.from_pretrained(saved)
    assert not any(module.training for module in model.modules())
    assert transformers.AutoModelForCausalLM.from_config(model.config).training and gpt2().training


def test_an_adapted_model_leaves_the_dropout_of_its_base_off(saved):
    model = peft.get_peft_model(transformers.AutoModelForCausalLM.from_pretrained(saved), lora(lora_dropout=0.1))
    modes = {name.rpartition(".")[2]: module.training for name, module in model.named_modules()}
    assert model.training and modes["lora_dropout"] and not modes["attn_dropout"]


def test_an_adapted_model_has_new_parameters_and_a_frozen_base():
    model = gpt2()
    before = {id(parameter) for parameter in model.parameters()}
    optimizer = torch.optim.SGD(model.parameters())
    model = peft.get_peft_model(model, lora())
    held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    new = [parameter for parameter in model.parameters() if parameter.requires_grad]
    assert new and not any(id(parameter) in held for parameter in new)
    assert all(not p.requires_grad for p in model.parameters() if id(p) in before)


@pytest.mark.parametrize(("tied", "new"), [(True, []), (False, ["lm_head.weight"])])
def test_more_tokens_are_new_values_of_the_same_embedding_but_another_head(tied, new):
    model = gpt2(tie_word_embeddings=tied)
    held = list(model.parameters())
    model.resize_token_embeddings(24)
    assert [name for name, p in model.named_parameters() if all(p is not other for other in held)] == new


def test_an_adapter_that_is_added_is_new_and_the_rest_frozen():
    model = gpt2()
    held = {id(parameter) for parameter in model.parameters()}
    try:
        model.add_adapter(lora())
    except ValueError as refused:  # a transformers that asks for a newer peft than there is
        pytest.skip(str(refused))
    assert trained(model) and all(id(parameter) not in held for parameter in model.parameters() if parameter.requires_grad)


def test_a_loaded_adapter_is_frozen_unless_it_is_asked_for(saved):
    base = transformers.AutoModelForCausalLM.from_pretrained
    loaded = peft.PeftModel.from_pretrained(base(saved), saved / "adapter")
    assert not trained(loaded) and not any(module.training for module in loaded.modules())
    assert trained(peft.PeftModel.from_pretrained(base(saved), saved / "adapter", is_trainable=True))


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpointing_over_a_frozen_base(saved, reentrant):
    """Of this release each form has gradients: older ones lost them with use_reentrant=True."""
    model = peft.get_peft_model(transformers.AutoModelForCausalLM.from_pretrained(saved), lora())
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": reentrant})
    model.train()
    model(input_ids=IDS, labels=IDS).loss.backward()
    assert all(parameter.grad is not None for parameter in model.parameters() if parameter.requires_grad)


def test_causal_models_shift_their_labels():
    model = gpt2().eval()
    out = model(input_ids=IDS, labels=IDS)
    assert torch.allclose(out.loss, F.cross_entropy(out.logits[:, :-1].flatten(0, 1), IDS[:, 1:].flatten()))
    assert SHIFTS_LABELS.search(type(model).__name__)


def test_encoder_decoder_models_do_not_shift_labels_but_make_the_decoders_input_of_them():
    torch.manual_seed(0)
    config = transformers.T5Config(
        d_model=16, num_layers=1, num_heads=2, d_kv=8, d_ff=16, vocab_size=20, decoder_start_token_id=0, pad_token_id=0
    )
    model = transformers.T5ForConditionalGeneration(config).eval()
    out = model(input_ids=IDS, labels=IDS)
    assert torch.allclose(out.loss, F.cross_entropy(out.logits.flatten(0, 1), IDS.flatten()))
    shifted = torch.cat([torch.zeros(2, 1, dtype=torch.long), IDS[:, :-1]], dim=1)
    assert torch.allclose(out.logits, model(input_ids=IDS, decoder_input_ids=shifted).logits)
    assert not SHIFTS_LABELS.search(type(model).__name__)


def test_masked_models_do_not_shift():
    torch.manual_seed(0)
    config = transformers.BertConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, vocab_size=20)
    model = transformers.BertForMaskedLM(config).eval()
    out = model(input_ids=IDS, labels=IDS)
    assert torch.allclose(out.loss, F.cross_entropy(out.logits.flatten(0, 1), IDS.flatten()))
    assert not SHIFTS_LABELS.search(type(model).__name__)


@pytest.mark.parametrize("name", ["", "SFTTrainer", "RewardTrainer", "DPOTrainer", "GRPOTrainer", "RLOOTrainer"])
def test_the_order_of_a_trainers_arguments(name):
    cls = getattr(pytest.importorskip("trl"), name) if name else transformers.Trainer
    order = [word for word in inspect.signature(cls.__init__).parameters if word != "self"]
    assert order[: len(TRAINER_ARGUMENTS[name])] == TRAINER_ARGUMENTS[name]


def test_settings_and_their_defaults():
    given = inspect.signature(transformers.TrainingArguments.__init__).parameters
    for name, setting in SETTINGS.items():
        if name in given:
            assert given[name].default == setting.default, name
            assert not any(before in given for before in setting.before)


@pytest.mark.parametrize("name", ["SFTConfig", "DPOConfig", "RewardConfig", "GRPOConfig", "RLOOConfig", "KTOConfig"])
def test_settings_and_what_trls_configs_make_of_them(name):
    given = inspect.signature(getattr(pytest.importorskip("trl"), name).__init__).parameters
    other = {word for word, setting in SETTINGS.items() if word in given and given[word].default != setting.default}
    assert other <= TRL_SETS


def test_methods_of_an_accelerator():
    accelerate = pytest.importorskip("accelerate")
    own = {name for name in dir(accelerate.Accelerator) if name[0] != "_"}
    missing = set(DRIVER_METHODS) - own
    # Fabric's, which has the others under the same names.
    assert missing <= set("""setup setup_module setup_optimizers setup_dataloaders no_backward_sync clip_gradients init_module
        rank_zero_first init_tensor""".split())


def test_what_an_accelerator_saves(tmp_path):
    """Only what was prepared; a schedule that was not is not among it."""
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    AcceleratorState._reset_state(True)
    accelerator = Accelerator(cpu=True)
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    accelerator.prepare(model, optimizer)
    accelerator.save_state(tmp_path / "one")
    accelerator.prepare(scheduler)
    accelerator.save_state(tmp_path / "two")
    one, two = ({file.name for file in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert "optimizer.bin" in one and two - one == {"scheduler.bin"}


def test_what_a_trainer_resumes_from_where_only_the_model_was_saved(tmp_path):
    """No error: the step goes on, the optimizer remembers nothing, and the schedule begins anew."""
    seen = {}

    class Look(transformers.TrainerCallback):
        def on_step_begin(self, args, state, control, optimizer=None, lr_scheduler=None, **more):
            seen.setdefault(state.global_step, (len(optimizer.state), lr_scheduler.get_last_lr()[0]))

    def train(only_model, steps, **more):
        seen.clear()
        args = transformers.TrainingArguments(
            tmp_path / str(only_model), max_steps=steps, save_steps=2, save_only_model=only_model, report_to=[], use_cpu=True, disable_tqdm=True, learning_rate=1.0
        )
        rows = [{"input_ids": IDS[0], "labels": IDS[0]}] * 32
        transformers.Trainer(gpt2(), args, train_dataset=rows, callbacks=[Look()]).train(**more)
        return dict(seen)

    for only_model in (True, False):
        train(only_model, 2)
        after = train(only_model, 4, resume_from_checkpoint=True)
        remembered, rate = after[2]
        assert min(after) == 2 and bool(remembered) is not only_model and (rate == 1.0) is only_model


@pytest.mark.parametrize("bf16", [False, True])
def test_a_trainer_trains_the_weights_that_it_is_given(tmp_path, bf16):
    config = transformers.LlamaConfig(vocab_size=20, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2)
    model = transformers.LlamaForCausalLM(config).half()
    args = transformers.TrainingArguments(tmp_path, max_steps=1, bf16=bf16, report_to=[], use_cpu=True, disable_tqdm=True, save_strategy="no")
    trainer = transformers.Trainer(model, args, train_dataset=[{"input_ids": IDS[0], "labels": IDS[0]}] * 8)
    trainer.train()
    assert {parameter.dtype for group in trainer.optimizer.param_groups for parameter in group["params"]} == {torch.float16}


@pytest.mark.parametrize("name", "Llama Mistral Mixtral Qwen2 Qwen3 Phi Phi3 GPTNeoX Olmo StableLm".split())
def test_output_layers_that_are_not_tied(name):
    assert UNTIED.match(f"transformers.{name}Config") and not getattr(transformers, f"{name}Config")().tie_word_embeddings
    assert not UNTIED.match("transformers.GPT2Config") and transformers.GPT2Config().tie_word_embeddings
