"""The demo: emoji with the words people use for them, and the experiment that measures the gain."""
