"""DeepSeek-V4's sparse-attention path: the ops, what their metadata is made from, and the pools they read."""
