//! Without candle, operations are measured beside nothing.

use std::convert::Infallible;

use super::cases::Case;

/// Runs a contender's operation once.
pub type Contender = Box<dyn Fn() -> Result<(), Infallible>>;

/// What to say below the table.
pub const NOTE: Option<&str> =
    Some("built with `--features candle` (Rust 1.88), this measures candle's CPU backend, too");

/// The contender; none.
pub fn prepare(_: &Case) -> Result<Option<Contender>, Infallible> {
    Ok(None)
}
