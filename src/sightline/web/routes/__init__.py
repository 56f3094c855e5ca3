"""Routes, one small file a group; each has a `router` that `sightline.web.app` includes."""
