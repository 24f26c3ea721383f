"""What an owner may do: tokens, limits, disk quota."""
