//! Everything that is tested from outside, through the real executable.

mod demo;
mod harness;
