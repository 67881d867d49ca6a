"""What the pages of area 0 and the tables of catalogue/protocols.py say of transformers, PEFT, Accelerate and TRL."""

import inspect

import pytest
import torch
import torch.nn.functional as F

transformers = pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

from torchlint.catalogue.protocols import DRIVER_METHODS, SETTINGS, SHIFTS_LABELS, TRAINER_ARGUMENTS, TRL_SETS  # noqa: E402

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
    model.add_adapter(lora())
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
