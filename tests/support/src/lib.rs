//! What the tests of metal-bridge share.
