"""A module for each examination: what it tries, what it may find."""
