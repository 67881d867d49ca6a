"""6xx: data sets, loaders and samplers. A file a pitfall, named as its page."""
