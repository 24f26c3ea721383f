"""Run a bot's command: processes, limits, namespaces, filters."""
