"""Each finding with its source line."""
from torchlint.report.concise import write  # noqa: F401
