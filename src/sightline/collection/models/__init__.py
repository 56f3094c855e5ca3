"""What training, searching and evaluating share: samples, learners, queries to judge by, models."""
