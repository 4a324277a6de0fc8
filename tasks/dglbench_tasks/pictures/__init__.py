"""What ``generate --plot`` draws, a module for each task; no run depends on them."""
