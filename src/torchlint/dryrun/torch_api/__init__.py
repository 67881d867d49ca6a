"""What torch's functions, classes and methods do, and the libraries around it."""
