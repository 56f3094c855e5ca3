"""What lies where in pictures: words that are proposed and doubted, their regions, and scenes."""
