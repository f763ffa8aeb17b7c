"""What `ergon_client.testing` needs in tests alone: the app's tasks at once, a server of one's own, and a simulated world."""
