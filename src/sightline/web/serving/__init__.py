"""Being a server: connections, the token that is kept, one request without any."""
