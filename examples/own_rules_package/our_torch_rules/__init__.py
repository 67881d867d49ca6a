"""Rules of our team for torchlint: the pages beside this file, and the matchers that pages cannot say."""
