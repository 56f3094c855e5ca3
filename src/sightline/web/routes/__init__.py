"""Routes, one module for each group; `sightline.web.app` includes their `router`."""
