"""What tests are made of: small collections, data sets, files and servers."""
