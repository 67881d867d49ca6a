"""`torchsan run`: a program, watched as it is."""
