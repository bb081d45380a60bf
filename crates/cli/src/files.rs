//! Reads files and streams up to a limit: some that have a name, such as `/dev/zero`, never end.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The most bytes of what people write: sources, templates, grammars, keys, prompts.
pub const WRITTEN: u64 = 64 << 20;

/// The most bytes of what programs collect: corpora, profiles.
pub const COLLECTED: u64 = 1 << 30;

/// All bytes of a stream. More than `most` are an error.
pub fn read_from(stream: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let message = format!("it has more than {} MiB", most >> 20);
        return Err(io::Error::other(message));
    }
    Ok(bytes)
}

/// All bytes of a file. More than `most` are an error.
pub fn read(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    read_from(File::open(path)?, most)
}

/// The text of a file. More than `most` bytes are an error.
pub fn read_text(path: impl AsRef<Path>, most: u64) -> io::Result<String> {
    let text = String::from_utf8(read(path, most)?);
    text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}
