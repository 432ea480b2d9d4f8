"""What goes out: matches as Arrow, and DISTINCT."""
