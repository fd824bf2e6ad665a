"""A module for each problem of the book: its hidden cases, its known mistakes."""
