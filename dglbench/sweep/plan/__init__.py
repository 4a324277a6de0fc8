"""What a sweep would do: what is there already, what is left, how long it may take."""
