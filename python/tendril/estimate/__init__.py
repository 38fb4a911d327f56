"""`tendril estimate`: the shape of an arm and the force on its tip from a table of what its sensors read."""
