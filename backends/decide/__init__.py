"""From a bag, a platform and a registry to a plan: facts, checks, choices and fills; pure."""
