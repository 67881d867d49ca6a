"""The numbers of a run over its steps. No pitfall: other checks and the report read them."""
