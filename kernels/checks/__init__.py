"""What every op asks alike: what its operands must be, when their values are checked, and when two results agree."""
