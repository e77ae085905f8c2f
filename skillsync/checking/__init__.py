"""Does a package ship its skills as consumers need them? Reads source trees and archives; only `--fix` writes."""
