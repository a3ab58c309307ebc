"""The commands of the command line, one module a family. ``rag.cli`` holds the table of them."""
