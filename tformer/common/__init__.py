"""What all layers use: settings, checks of values, files."""
