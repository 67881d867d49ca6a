"""What the environment can say, by name."""

MATCHERS = "TORCHLINT_MATCHERS"  # files or folders with matchers of one's own
CACHE_SECRET = "TORCHLINT_CACHE_SECRET"  # what a cache is sealed with, in place of the secret in the user's folder
