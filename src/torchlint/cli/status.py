"""The exit statuses that stand for something; 0 is a clean run."""

FINDINGS, FAILED, INTERRUPTED = 1, 2, 130
