"""Which configurations a search tries, and which of them it chooses."""
