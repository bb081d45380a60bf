//! How a kernel takes its buffer arguments, from its declaration in the source: what Metal's reflection does not tell.
//!
//! A reference to constant memory (`constant uint &count`) is a value for `cudaLaunchKernel`, and everything else a
//! pointer. A pointer that is taken for a value gives no error, only wrong results: the kernel gets the pointer's own
//! bytes. So nothing is guessed. This is not a C++ front end: it refuses a declaration that could mean something else to
//! one. Then the program must say which argument is what.

mod kinds;
mod source;
#[cfg(test)]
mod tests;
mod tokens;

use std::collections::HashMap;

use kinds::parameters;
use source::Source;
use tokens::Why;

/// The pointers and references among the parameters of the kernel called `kernel`, by name: whether they are values.
/// Those that do not show it plainly are absent.
pub(crate) fn declared_values(source: &str, kernel: &str) -> Result<HashMap<String, bool>, Why> {
    let text = tokens::joined(source)?;
    let source = Source::new(&tokens::tokens(&text)?, kernel)?;
    let mut declarations = source.declarations.iter().map(|d| parameters(&source, d));
    let first = declarations
        .next()
        .ok_or("the source has no declaration of the kernel outside braces")??;
    for declaration in declarations {
        if declaration? != first {
            return Err("the source has declarations of the kernel that differ");
        }
    }
    let plain = first
        .iter()
        .filter_map(|(name, is_value)| Some(((*name).to_owned(), (*is_value)?)));
    Ok(plain.collect())
}
