"""Finding matches: partial matches, made longer range by range."""
