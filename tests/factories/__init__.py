"""Test data: small collections, data sets, files and servers."""
