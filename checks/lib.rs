//! The integration tests of promp are in tests/.
