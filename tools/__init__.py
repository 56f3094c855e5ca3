"""What makes files that the package ships."""
