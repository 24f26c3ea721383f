"""The registry of bots: owners, versions, uploads and their trials."""
