"""`tendril export`: recordings in formats of data sets and viewers."""
