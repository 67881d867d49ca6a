"""0xx: fine-tuning and hosted trainers."""
