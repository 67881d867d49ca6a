"""The names of torchlint.report.FORMATS, for those who must not load the reports: --help, and the settings."""

FORMATS = (
    "full", "concise", "grouped", "agent", "json", "json-lines", "github", "gitlab", "azure", "pylint", "rdjson", "sarif", "junit",
)
