//! How a kernel takes its buffer arguments, from its declaration in the source: what Metal's reflection does not tell.
//!
//! A reference to constant memory (`constant uint &count`) is a value for `cudaLaunchKernel`, and everything else a
//! pointer. A pointer that is taken for a value gives no error, only wrong results: the kernel gets the pointer's own
//! bytes. So nothing is guessed. Where the text may mean something else to the compiler, through a condition, a macro, a
//! template, an alias, or another name for the kernel, the program says which argument is what.

mod declarations;
mod source;
#[cfg(test)]
mod tests;
mod tokens;
mod types;

use declarations::declarations;
use source::Source;
use types::{Kind, Types};

/// A parameter that is declared as a pointer or a reference.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Declared {
    pub(crate) name: String,
    pub(crate) is_value: bool,
}

/// The pointers and references among the parameters of the kernel called `kernel`, without those whose kind is not
/// plain. The error says why the source does not show the parameters.
pub(crate) fn declared_parameters(source: &str, kernel: &str) -> Result<Vec<Declared>, String> {
    let text = tokens::joined(source);
    let source = Source::new(&tokens::tokens(&text)?)?;
    let types = Types::new(&source);
    let mut definition = None;
    let mut kinds: Option<Vec<Kind>> = None;
    for declaration in declarations(&source, kernel)? {
        let parameters = types
            .parameters(declaration.parameters)
            .ok_or_else(|| format!("the parameters of {kernel} are not plain"))?;
        let own = parameters.iter().map(|(_, kind)| *kind).collect();
        let differ = || {
            Err(format!(
                "the source has declarations of {kernel} that differ"
            ))
        };
        if *kinds.get_or_insert_with(|| Vec::clone(&own)) != own {
            return differ();
        }
        // Prototypes may name the parameters otherwise.
        if declaration.is_definition
            && *definition.get_or_insert_with(|| parameters.clone()) != parameters
        {
            return differ();
        }
    }
    let parameters = definition
        .ok_or_else(|| format!("the source has no definition of {kernel} outside namespaces"))?;
    let clear = parameters.into_iter().filter_map(|(name, kind)| {
        (kind != Kind::Unclear).then_some(Declared {
            name: name?.to_owned(),
            is_value: kind == Kind::Value,
        })
    });
    Ok(clear.collect())
}
