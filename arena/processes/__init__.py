"""What every process of the service shares: its life, its sandbox, its supervisor."""
