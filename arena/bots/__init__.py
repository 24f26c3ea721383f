"""The registry of bots: owners, versions, submissions and their trials."""
