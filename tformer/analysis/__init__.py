"""Looking at a model: what it computes inside, what it costs, how far words travel."""
