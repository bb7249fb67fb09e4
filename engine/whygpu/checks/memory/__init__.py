"""What work keeps on each accelerator: weights, caches, activations, gradients, optimizer states."""
