"""What a run produces: its record and tables, how they are stored, and which one is selected."""
