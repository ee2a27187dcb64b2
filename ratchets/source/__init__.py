"""What is read: files, git objects, bytes to trees, paths to modules."""
