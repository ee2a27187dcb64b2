"""A small LLM engine that stands on confbag: one config object in, bound ops inside, bytes out."""
