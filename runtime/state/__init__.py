"""What an engine keeps of its events: leaves with their indexes, best starts, what can still matter, and identities."""
