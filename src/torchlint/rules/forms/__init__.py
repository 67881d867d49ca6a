"""The declarative forms of rule pages, judged over a dry run."""
