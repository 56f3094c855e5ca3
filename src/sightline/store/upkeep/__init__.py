"""Checking a store, making again what is damaged, copying it, forgetting pictures."""
