//! NaN and infinities: where they get to, and that all other results are what they would be without.

mod moves;
mod rows;
mod scales;
