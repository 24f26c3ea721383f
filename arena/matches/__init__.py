"""What is made of a match that was played: its report, its log, its replay file."""
