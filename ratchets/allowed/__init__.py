"""What is allowed to stay: baselines, exceptions, suppressions, and the judgement by them."""
