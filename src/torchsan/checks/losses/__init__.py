"""3xx: losses and metrics."""
