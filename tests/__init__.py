"""Tests of Sightline."""
