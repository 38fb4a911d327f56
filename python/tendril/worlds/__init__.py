"""Many worlds on one device."""
