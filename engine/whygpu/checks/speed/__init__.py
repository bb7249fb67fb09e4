"""How long work takes: decoding, prompts, training steps, pictures, queues."""
