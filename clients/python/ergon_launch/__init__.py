"""The launcher of workers: `python3 -m ergon_client work MODULE:APP`."""
