//! Models as Hugging Face has them: a directory with `config.json`, safetensors files and `tokenizer.json`.
//!
//! [`open`] translates the keys and the names of the tensors into those of a GGUF file, so that everything else of the engine
//! reads one form. The weights stay in the mapped files where a GGUF file would have the same bytes.
//!
//! | file | what it gives |
//! |---|---|
//! | `config.json` | the architecture and its keys |
//! | `model.safetensors`, or `model.safetensors.index.json` and the files that it names | the tensors |
//! | `tokenizer.json` | the vocabulary, and how a text is split |
//! | `tokenizer_config.json`, `generation_config.json` | the tokens that begin and end texts (optional) |
//! | `chat_template.jinja` | the chat template, if `tokenizer_config.json` does not have it (optional) |

mod config;
mod error;
mod families;
mod folder;
mod keys;
mod rope;
mod shards;
mod special;
mod splitting;
mod tensors;
mod tokenizer;

use std::path::Path;

use config::Config;
pub use error::DirectoryError;
use folder::Folder;
use shards::Shards;

use crate::gguf::Gguf;

const CONFIG: &str = "config.json";

/// Opens the model in the directory at `path`: reads and checks all but the weights, and maps these.
///
/// # Errors
///
/// The [`DirectoryError`] names the file and what is wrong with it, or what of it is not supported.
pub fn open(path: impl AsRef<Path>) -> Result<Gguf, DirectoryError> {
    let folder = Folder {
        path: path.as_ref(),
    };
    if folder.open(CONFIG)?.is_none() {
        return Err(DirectoryError::MissingFile {
            file: CONFIG.into(),
        });
    }
    let fields = folder.fields(CONFIG)?;
    let (config, mut keys) = Config::read(&fields)?;
    let mut tensors = rope::translate(&fields, &config, &mut keys)?;
    let shards = Shards::open(&folder)?;
    tensors.extend(tensors::translate(&shards.tensors, &config)?);
    let tokens = tokenizer::translate(&folder, config.embeddings, &mut keys)?;
    special::translate(&folder, &fields, &tokens, &mut keys)?;
    Ok(Gguf::of_files(keys.all, tensors, shards.maps)?)
}
