"""Where the project is found on the web. Both are empty until somebody publishes them, and nothing that is printed then
leads there: findings name the command that explains them, reports carry the text itself."""

SITE = ""  # "https://..." without a slash at the end; the rule pages are at SITE/rules/CODE-NAME/
REPOSITORY = ""  # the same, of the repository


def rule_page(code: int, name: str) -> str:
    """The address of a rule's page on the site; "" while there is no site."""
    return f"{SITE}/rules/{code:03d}-{name}/" if SITE else ""
