"""What figures and tables share: looks of methods, titles, themes, panels."""
