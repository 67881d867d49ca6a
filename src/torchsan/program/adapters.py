"""Which parameters are an adapter's: by the names that PEFT gives them."""

from __future__ import annotations

from torchsan.own import re

ADAPTER = re.compile(r"(?:^|\.)(?:lora_|ia3_l|hada_w|lokr_w|oft_|boft_|vera_|adaption_prompt|prompt_encoder)")
