//! Reads the hand-made fixtures and checks what the adapter makes of them.
