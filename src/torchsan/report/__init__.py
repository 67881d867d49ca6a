"""How findings and numbers of a run are told: at once, on a terminal, in files, to other tools."""
