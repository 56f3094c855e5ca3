"""Connections, shutdown, the token file, and single requests without a server."""
