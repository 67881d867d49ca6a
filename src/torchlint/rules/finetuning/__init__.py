"""0xx: fine-tuning and hosted trainers. A file a pitfall, named as its page."""
