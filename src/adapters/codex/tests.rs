//! Tests of the adapter over whole files.
