"""JSON Schema of what goes in and out, made from what the loader, the vocabulary and the output's types declare."""
