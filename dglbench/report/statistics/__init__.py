"""What tables, figures and claims compute from the runs."""
