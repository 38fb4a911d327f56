"""`tendril compare`: two recordings or two sweeps on one page."""
