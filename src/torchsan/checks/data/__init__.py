"""6xx: data sets, loaders and samplers."""
