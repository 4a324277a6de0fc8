"""From what a user asks for to runs with nothing left open."""
