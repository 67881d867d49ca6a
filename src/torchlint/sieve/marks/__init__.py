"""Marks: what some rule asks for in `rules/needs.py`, beside words.

Marks for names that are walked over anyway (`!state`, `!best`) are set in `words.py`, those for what a method or class is
(`!init`, `!idle`) in `definitions.py`, and what only the whole file tells (`!calls`) in `reader.py`.
"""
