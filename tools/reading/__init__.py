"""What the checks of the house share: which files there are, and how sources and texts are read."""
