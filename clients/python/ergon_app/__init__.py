"""The registry of methods, `ergon_client.App`."""
