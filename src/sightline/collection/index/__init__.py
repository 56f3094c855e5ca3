"""Index: from the folder of pictures to a published version of the store."""
