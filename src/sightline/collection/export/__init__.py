"""`sightline export`: words of pictures written where other programs read them."""
