"""Ways to find the best rows; `flat` scans them all, exactly."""
