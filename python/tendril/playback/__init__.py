"""`tendril play`: a recording as one HTML page with its own renderer."""
