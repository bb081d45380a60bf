//! [`Shards`]: the safetensors files of a directory. Only their headers are read; the rest is mapped.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use memmap2::MmapRaw;
use safetensors::tensor::{Metadata, TensorInfo};
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::error::{DirectoryError, Result};
use super::folder::{Folder, check_size, parse};
use crate::gguf;

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";
/// The most bytes of a header, and of an index: some hundred times those of the largest models.
const MAX_HEADER: u64 = 32 << 20;

/// A tensor as a safetensors file has it.
pub(super) struct Source {
    pub name: String,
    pub info: TensorInfo,
    /// Which of the files.
    pub file: usize,
    /// From the start of the file.
    pub offset: u64,
}

/// All tensors of a directory, and its files.
#[derive(Default)]
pub(super) struct Shards {
    pub tensors: Vec<Source>,
    pub maps: Vec<Arc<MmapRaw>>,
}

impl Shards {
    /// Reads the headers of the one file, or of those that an index names.
    pub fn open(folder: &Folder<'_>) -> Result<Self> {
        let mut shards = Self::default();
        if let Some((file, size)) = folder.open(SINGLE)? {
            shards.add(SINGLE, &file, size)?;
            shards.refuse_duplicates(&[SINGLE])?;
            return Ok(shards);
        }
        let Some(index) = folder.json::<Index>(INDEX, MAX_HEADER)? else {
            return Err(DirectoryError::MissingFile {
                file: format!("{SINGLE} (or {INDEX})"),
            });
        };
        let mut names: Vec<&str> = index.weight_map.values().map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        for name in &names {
            if name.is_empty() || [".", ".."].contains(name) || name.contains(is_forbidden) {
                return Err(DirectoryError::Outside {
                    index: INDEX.into(),
                    shard: (*name).to_owned(),
                });
            }
            let Some((file, size)) = folder.open(name)? else {
                return Err(DirectoryError::MissingFile {
                    file: (*name).to_owned(),
                });
            };
            shards.add(name, &file, size)?;
        }
        shards.refuse_duplicates(&names)?;
        for (tensor, file) in &index.weight_map {
            let found = (shards.tensors).binary_search_by(|source| source.name.cmp(tensor));
            if !found.is_ok_and(|at| names[shards.tensors[at].file] == file) {
                return Err(DirectoryError::MissingTensor {
                    file: file.clone(),
                    tensor: tensor.clone(),
                });
            }
        }
        Ok(shards)
    }

    fn add(&mut self, name: &str, file: &File, size: u64) -> Result<()> {
        let (start, tensors) = header(name, file, size)?;
        let map = gguf::map(file, size).map_err(|source| DirectoryError::Io {
            file: name.to_owned(),
            source,
        })?;
        let file = self.maps.len();
        self.maps.push(map);
        self.tensors
            .extend(tensors.into_iter().map(|(name, info)| Source {
                offset: start + info.data_offsets.0 as u64,
                name,
                info,
                file,
            }));
        Ok(())
    }

    /// Sorts the tensors by their names.
    fn refuse_duplicates(&mut self, files: &[&str]) -> Result<()> {
        self.tensors.sort_by(|one, other| one.name.cmp(&other.name));
        let mut pairs = self.tensors.windows(2);
        match pairs.find(|pair| pair[0].name == pair[1].name) {
            Some(pair) => Err(DirectoryError::DuplicateTensor {
                file: files[pair[1].file].to_owned(),
                tensor: pair[1].name.clone(),
            }),
            None => Ok(()),
        }
    }
}

/// Whether no name of a file of the directory has this character. Control characters would steer a terminal in errors.
fn is_forbidden(character: char) -> bool {
    ['/', '\\'].contains(&character) || character.is_control()
}

/// Where the tensors' data begins, and the tensors.
fn header(name: &str, mut file: &File, size: u64) -> Result<(u64, Vec<(String, TensorInfo)>)> {
    let invalid = |reason: String| DirectoryError::Header {
        file: name.to_owned(),
        reason,
    };
    let failed = |source| DirectoryError::Io {
        file: name.to_owned(),
        source,
    };
    if size < 8 {
        return Err(invalid(format!("{size} bytes are no safetensors file")));
    }
    let mut length = [0; 8];
    file.read_exact(&mut length).map_err(failed)?;
    let length = u64::from_le_bytes(length);
    if length > size - 8 {
        let left = size - 8;
        let reason = format!("the header has {length} bytes, but {left} follow in the file");
        return Err(invalid(reason));
    }
    check_size(&format!("the header of {name}"), length, MAX_HEADER)?;
    let mut bytes = vec![0; length as usize];
    file.read_exact(&mut bytes).map_err(failed)?;
    let Entries(mut tensors) = parse(name, &bytes)?;
    tensors.sort_by_key(|(_, info)| info.data_offsets);
    // This checks that the tensors lie side by side, without gaps and overlaps, and have the bytes of their shapes.
    let metadata =
        Metadata::new(None, tensors.clone()).map_err(|error| invalid(error.to_string()))?;
    let (start, data) = (8 + length, metadata.data_len() as u64);
    if start.checked_add(data) != Some(size) {
        let left = size - start;
        let reason = format!("the tensors have {data} bytes, but {left} follow the header");
        return Err(invalid(reason));
    }
    Ok((start, tensors))
}

/// The index of several files.
#[derive(serde::Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

/// The tensors of a header.
struct Entries(Vec<(String, TensorInfo)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Entries, A::Error> {
        let mut tensors = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if name == "__metadata__" {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let entry = map.next_value::<TensorInfo>();
            let entry =
                entry.map_err(|error| A::Error::custom(format!("tensor {name:?}: {error}")))?;
            tensors.push((name, entry));
        }
        Ok(Entries(tensors))
    }
}
