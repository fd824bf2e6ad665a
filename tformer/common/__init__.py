"""What all layers use: settings, values that are checked, files."""
