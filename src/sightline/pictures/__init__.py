"""Pictures in folders: walking, decoding, their words, their thumbnails."""
