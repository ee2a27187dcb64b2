"""What can be set: the Config that an engine subclasses, its leaves, and the frozen classes that a process reads."""
