"""2xx: training and evaluation mode."""
