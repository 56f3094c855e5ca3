"""From pictures to words: what a picture is about, and what a learnt space of words looks like."""
