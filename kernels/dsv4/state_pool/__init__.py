"""The float32 state of the compressors: its geometry, its memory, and the tables that say which row a position has."""
