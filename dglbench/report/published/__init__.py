"""Figures that others published, beside which `--table published` puts those of a folder's runs."""
