"""moe.expert_counts: its contract, its reference and the kernel of the Acme A1."""
