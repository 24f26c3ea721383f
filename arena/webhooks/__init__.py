"""Webhooks: events of owners and their delivery."""
