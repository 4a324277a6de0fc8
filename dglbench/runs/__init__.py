"""What a run leaves behind: its record, its tables, where they are kept and what is chosen."""
