"""The forms of rule pages that both tools judge, judged over a live run."""
