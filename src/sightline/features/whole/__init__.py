"""Features of the whole picture that need neither fitting nor a network."""
