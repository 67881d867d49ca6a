"""What the environment can say, by name."""

MATCHERS = "TORCHLINT_MATCHERS"  # files or folders with matchers of one's own
