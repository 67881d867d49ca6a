"""How a rule says what to type instead."""
