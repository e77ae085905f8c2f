"""What a change is to the person who approves it: file by file, line by line, and what in it deserves a look."""
