"""Kind dsv4: its weights, its pools, what one forward pass hands to its ops, and its engine."""
