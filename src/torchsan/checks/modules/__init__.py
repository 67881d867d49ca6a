"""5xx: modules and layers."""
