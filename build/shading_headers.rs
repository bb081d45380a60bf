//! Embeds the shading language's headers in the library, so that kernels compile wherever the program runs.

use std::fs;
use std::path::{Path, PathBuf};

/// Writes `smtl_embedded_headers.c` to `generated`: the text of every file below `headers` under its path relative to
/// it, and the path of the clang that was found, which the translator tries first.
pub fn embed(headers: &Path, generated: &Path, clang: &Path) -> Result<(), String> {
    let mut files = Vec::new();
    collect(headers, &mut files)
        .map_err(|error| format!("cannot read {}: {error}", headers.display()))?;
    files.sort();

    let mut texts = String::from("#include <stddef.h>\n\n");
    let mut rows = String::new();
    for (index, file) in files.iter().enumerate() {
        let text =
            fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        let name = file
            .strip_prefix(headers)
            .expect("collected below it")
            .display()
            .to_string();
        texts += &format!(
            "static const unsigned char header_{index}[] =\n{};\n",
            literal(&text)
        );
        rows += &format!(
            "    {{{}, header_{index}, {}}},\n",
            literal(name.as_bytes()),
            text.len()
        );
    }
    let source = format!(
        "{texts}\ntypedef struct {{\n    const char *path;\n    const unsigned char *data;\n    size_t length;\n\
         }} smtl_embedded_header;\n\n\
         const smtl_embedded_header smtl_embedded_headers[] = {{\n{rows}    {{NULL, NULL, 0}},\n}};\n\
         const size_t smtl_embedded_header_count = {};\n\
         const char smtl_embedded_clang[] = {};\n",
        files.len(),
        literal(clang.display().to_string().as_bytes()),
    );

    let path = generated.join("smtl_embedded_headers.c");
    // Left alone where nothing changed, so that it is not compiled again.
    if fs::read_to_string(&path).is_ok_and(|old| old == source) {
        return Ok(());
    }
    fs::create_dir_all(generated)
        .and_then(|()| fs::write(&path, source))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// A C string literal of these bytes, one source line for each of theirs.
fn literal(bytes: &[u8]) -> String {
    let mut text = String::from("    \"");
    for &byte in bytes {
        match byte {
            b'\n' => text += "\\n\"\n    \"",
            // Octal with three digits ends by itself; `?` would begin a trigraph.
            b'"' | b'\\' | b'?' | 0..=31 | 127.. => text += &format!("\\{byte:03o}"),
            _ => text.push(char::from(byte)),
        }
    }
    text.push('"');
    text
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
