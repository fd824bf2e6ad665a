"""The same results, faster: what the model could do without."""
