"""Search by words, texts and topics, and annotation of pictures with words and texts."""
