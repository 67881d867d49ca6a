"""What several rules ask of a program."""
