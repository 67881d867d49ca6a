"""Frameworks and pytest: who begins and ends a watch there."""
