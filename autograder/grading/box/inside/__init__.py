"""What runs in the box: imports nothing of the course but what the bundle brings along."""
