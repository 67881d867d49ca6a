"""The families of torch's errors, by subject. Loaded when there is an error: they are not needed until then."""
