"""What is declared: ops and implementations, their requirements, rules, libraries, and the registry that holds them."""
