"""How what a command found is said: as text, JSON, Markdown, a page, or a form for CI; pure but for the terminal."""
