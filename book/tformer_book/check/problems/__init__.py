"""A module for each graded problem: its hidden cases, its known mistakes.

It is named after the function that the problem's cell calls: ``check.shift(mine)``.
"""
