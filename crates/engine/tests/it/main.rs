//! The engine through its public face, one module per room.
