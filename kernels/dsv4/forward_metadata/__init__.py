"""The lengths and tables of one forward pass of DeepSeek-V4, on the device and mirrored on the CPU."""
