"""What the whole of backends is said with: levels, conditions on facts, rejections, shapes of data, versions."""
