"""8xx: several processes and devices."""
