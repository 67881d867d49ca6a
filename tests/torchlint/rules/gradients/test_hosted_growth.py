"""118 of transformers' models that get another embedding or output layer behind the optimizer."""

import pytest

from tests.torchlint.dryrun.support import holds

LOOP = """
from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig, LlamaForCausalLM, GPT2LMHeadModel


def finetune(loader, tokenizer, config):
    model = {model}
    {first}
    {second}
    model.train()
    for batch in loader:
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
"""
OPTIMIZER = "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)"
MORE = "model.resize_token_embeddings(len(tokenizer))"
LOADED = "AutoModelForCausalLM.from_pretrained('gpt2')"


@pytest.mark.parametrize(("model", "grows", "told"), [
    ("LlamaForCausalLM(LlamaConfig(vocab_size=100))", MORE, True),
    ("LlamaForCausalLM(LlamaConfig(tie_word_embeddings=True))", MORE, False),
    ("LlamaForCausalLM(LlamaConfig(vocab_size=9) if loader else LlamaConfig(vocab_size=8))", MORE, True),
    ("LlamaForCausalLM(LlamaConfig(vocab_size=9) if loader else LlamaConfig(tie_word_embeddings=True))", MORE, False),
    ("GPT2LMHeadModel(GPT2Config())", MORE, False),
    ("GPT2LMHeadModel(GPT2Config(tie_word_embeddings=False))", MORE, True),
    ("LlamaForCausalLM(config)", MORE, False),
    ("LlamaForCausalLM(LlamaConfig(**config))", MORE, False),
    (LOADED, MORE, False),
    ("AutoModelForCausalLM.from_pretrained('gpt2', tie_word_embeddings=False)", MORE, True),
    ("LlamaForCausalLM(LlamaConfig())", "model.resize_token_embeddings()", False),
    (LOADED, "model.set_output_embeddings(nn.Linear(768, 100, bias=False))", True),
    (LOADED, "model.set_input_embeddings(nn.Embedding(100, 768))", True),
    (LOADED, "model.set_output_embeddings(config.head)", False),
])
def test_behind_the_optimizer(model, grows, told):
    holds(LOOP.format(model=model, first=OPTIMIZER, second=grows + ("  # <- 118" if told else "")))
    holds(LOOP.format(model=model, first=grows, second=OPTIMIZER))
