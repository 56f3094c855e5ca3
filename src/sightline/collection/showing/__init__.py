"""What a collection gives to those who show it to others: pages, galleries, programs."""
