"""From sources to a bag: settings validated, precedence settled, every value with the chain of those who set it."""
