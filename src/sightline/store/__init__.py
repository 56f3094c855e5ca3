"""The store: a durable log of facts, and all that is derived from it."""
