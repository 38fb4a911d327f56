"""`tendril identify`: fits keys of a robot file to recorded static poses or motions."""
