"""What one process reads: the published bag, views of it, and its way to other processes."""
