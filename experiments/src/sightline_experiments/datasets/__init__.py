"""Collections for trying things out and for measuring."""
