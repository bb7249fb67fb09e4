"""Files of weights: GGUF and safetensors, read by their headers."""
