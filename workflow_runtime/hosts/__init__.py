"""Where a run lives: Durable Functions, the local host, or the simulation."""
