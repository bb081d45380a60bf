//! Translates special tokens and the chat template into the keys of a GGUF file.

use serde_json::Value as Json;

use super::error::{DirectoryError, Result};
use super::folder::{Fields, Folder, unsupported};
use super::keys::Keys;
use super::splitting::FILE;
use super::tokenizer::Tokens;
use crate::gguf::Value;

const SETTINGS: &str = "tokenizer_config.json";
const GENERATION: &str = "generation_config.json";
const TEMPLATE: &str = "chat_template.jinja";
/// The keys of tokens that generation stops at.
const ENDS: [&str; 3] = ["eos", "eot", "eom"];

/// Writes the keys of the tokens that begin and end a text, and that of the chat template.
pub(super) fn translate(
    folder: &Folder<'_>,
    config: &Fields,
    tokens: &Tokens,
    keys: &mut Keys,
) -> Result<()> {
    let settings = folder.fields(SETTINGS)?;
    let generation = folder.fields(GENERATION)?;
    let ids = |key: &str| -> Result<Vec<u32>> {
        let mut all = numbers(&generation, key)?;
        all.extend(numbers(config, key)?);
        Ok(all)
    };
    let id_of = |text: &Option<String>| {
        let text = text.as_ref();
        text.and_then(|text| tokens.ids.get(text)).copied()
    };
    let begin = named(&settings, "bos_token", tokens)?;
    let begin = begin.or(ids("bos_token_id")?.first().copied());
    let begin = begin.or(id_of(&tokens.begins_with));
    let mut ends: Vec<u32> = named(&settings, "eos_token", tokens)?.into_iter().collect();
    for id in ids("eos_token_id")? {
        if !ends.contains(&id) {
            ends.push(id);
        }
    }
    if let Some(id) = ends.get(ENDS.len()) {
        return Err(
            generation.unsupported(format!("eos_token_id {id}, a fourth token that ends texts"))
        );
    }
    let set = |keys: &mut Keys, name: &str, id: Option<u32>| {
        let key = format!("tokenizer.ggml.{name}_token_id");
        keys.put_if(&key, id.map(Value::U32));
    };
    set(keys, "bos", begin);
    for (name, &id) in ENDS.iter().zip(&ends) {
        set(keys, name, Some(id));
    }
    let unknown = named(&settings, "unk_token", tokens)?;
    set(keys, "unknown", unknown.or(id_of(&tokens.unknown)));

    let of_template = |text: &Option<String>, id: Option<u32>| match text {
        Some(text) if tokens.ids.get(text).copied() != id => {
            let what = format!("the token {text:?} of the post_processor");
            Err(unsupported(FILE, what))
        }
        text => Ok(text.is_some()),
    };
    let adds_begin = match settings.flag("add_bos_token")? {
        Some(adds) => adds,
        None => of_template(&tokens.begins_with, begin)?,
    };
    let adds_end = match settings.flag("add_eos_token")? {
        Some(adds) => adds,
        None => of_template(&tokens.ends_with, ends.first().copied())?,
    };
    keys.put("tokenizer.ggml.add_bos_token", Value::Bool(adds_begin));
    keys.put("tokenizer.ggml.add_eos_token", Value::Bool(adds_end));
    let template = match folder.text(TEMPLATE)? {
        Some(template) => Some(template),
        None => template_of(&settings)?,
    };
    keys.put_if("tokenizer.chat_template", template.map(Value::String));
    Ok(())
}

/// The token that a key has the text of: as a text, or as an object with it.
fn named(settings: &Fields, key: &str, tokens: &Tokens) -> Result<Option<u32>> {
    let text = match settings.get(key) {
        None => return Ok(None),
        Some(Json::String(text)) => text,
        Some(object) => match object["content"].as_str() {
            Some(text) => text,
            None => return Err(settings.wrong(key, "the text of a token")),
        },
    };
    match tokens.ids.get(text) {
        Some(&id) => Ok(Some(id)),
        None => Err(DirectoryError::Vocabulary {
            file: settings.file.clone(),
            reason: format!("{key} {text:?} is not in the vocabulary"),
        }),
    }
}

/// A number of a token, or a list of them.
fn numbers(fields: &Fields, key: &str) -> Result<Vec<u32>> {
    let list = match fields.get(key) {
        None => return Ok(Vec::new()),
        Some(Json::Array(list)) => list.as_slice(),
        Some(one) => std::slice::from_ref(one),
    };
    let number = |value: &Json| u32::try_from(value.as_u64()?).ok();
    let numbers: Option<Vec<u32>> = list.iter().map(number).collect();
    numbers.ok_or_else(|| fields.wrong(key, "the number of a token, or a list of them"))
}

/// The template of the settings: a text, or the one called "default" of a list.
fn template_of(settings: &Fields) -> Result<Option<String>> {
    match settings.get("chat_template") {
        None => Ok(None),
        Some(Json::String(template)) => Ok(Some(template.clone())),
        Some(Json::Array(list)) => {
            let default = list.iter().find(|entry| entry["name"] == "default");
            let template = default.and_then(|entry| entry["template"].as_str());
            Ok(template.map(str::to_owned))
        }
        Some(_) => Err(settings.wrong("chat_template", "a text or a list of templates")),
    }
}
