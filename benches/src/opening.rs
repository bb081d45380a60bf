//! How a benchmark begins: the clock, criterion, and what it measures, or the program's end.

use std::fmt::Display;
use std::time::SystemTime;

use criterion::Criterion;

use crate::table;

/// When the benchmark began, criterion with its results beside the other build products, and what `made` holds. If
/// `made` is an error, ends the program with a message.
pub fn open<T, E: Display>(bench: &str, made: Result<T, E>) -> (SystemTime, Criterion, T) {
    let start = SystemTime::now();
    let criterion = Criterion::default()
        .output_directory(&table::output_directory())
        .configure_from_args();
    match made {
        Ok(made) => (start, criterion, made),
        Err(error) => {
            eprintln!("{bench}: {error}");
            std::process::exit(1);
        }
    }
}
