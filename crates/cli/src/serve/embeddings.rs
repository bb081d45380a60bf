//! `/v1/embeddings`: vectors for texts.

use std::sync::{Arc, Weak};

use serde_json::{Value, json};
use tokio::task;

use super::State;
use super::error::ApiError;
use super::fields::{Fields, missing, wrong_type};
use super::requests::{check_model, encode_text, tokens};

/// The most texts of a request, as OpenAI has it.
const MAX_TEXTS: usize = 2048;

/// A request for embeddings.
pub struct EmbeddingRequest {
    texts: Vec<Vec<u32>>,
    /// The elements that are wanted, if not all.
    dimensions: Option<usize>,
    is_base64: bool,
}

impl EmbeddingRequest {
    /// Reads a request, and encodes its texts.
    pub fn parse(state: &State, body: &[u8]) -> Result<Self, ApiError> {
        let mut fields = Fields::parse(body)?;
        check_model(&mut fields, &state.name)?;
        let input = fields.take("input").ok_or_else(|| missing("input"))?;
        let width = state.model.config().width;
        let dimensions = fields.count("dimensions")?;
        if dimensions.is_some_and(|count| !(1..=width).contains(&count)) {
            let message = format!("\"dimensions\" is from 1 to the model's {width}");
            return Err(ApiError::field("dimensions", "invalid_value", message));
        }
        let is_base64 = match fields.text("encoding_format")?.as_deref() {
            None | Some("float") => false,
            Some("base64") => true,
            Some(_) => return Err(ApiError::unsupported("encoding_format")),
        };
        fields.finish()?;
        let texts = match input {
            Value::Array(values) if !values.first().is_some_and(Value::is_number) => values,
            text => vec![text],
        };
        if !(1..=MAX_TEXTS).contains(&texts.len()) {
            let message = format!("\"input\" has from 1 to {MAX_TEXTS} texts");
            return Err(ApiError::field("input", "invalid_value", message));
        }
        let context = state.slots.context();
        let encode = |text: &Value| {
            let tokens = match text {
                Value::String(text) => encode_text(&state.model, "input", text)?,
                Value::Array(values) => tokens("input", values)?,
                _ => return Err(wrong_type("input", "strings or arrays of tokens")),
            };
            let known = state.model.config().vocabulary;
            if tokens.is_empty() || tokens.iter().any(|&token| token as usize >= known) {
                let message = "a text of \"input\" has no tokens, or tokens that there are not";
                return Err(ApiError::field("input", "invalid_value", message));
            }
            match tokens.len() <= context {
                true => Ok(tokens),
                false => Err(ApiError::too_long("input", tokens.len(), context)),
            }
        };
        Ok(Self {
            texts: texts.iter().map(encode).collect::<Result<_, _>>()?,
            dimensions,
            is_base64,
        })
    }
}

/// The answer's JSON.
pub async fn answer(state: &Arc<State>, request: EmbeddingRequest) -> Result<Value, ApiError> {
    let _turn = state.embedder.turn().await?;
    // Gone with the client, or when the server ends.
    let life = Arc::new(());
    let (shared, watched) = (Arc::clone(state), Arc::downgrade(&life));
    let work = move || compute(&shared, &request, &watched);
    task::spawn_blocking(work)
        .await
        .map_err(ApiError::internal)?
}

fn compute(state: &State, request: &EmbeddingRequest, life: &Weak<()>) -> Result<Value, ApiError> {
    let (mut data, mut used) = (Vec::new(), 0);
    for (index, tokens) in request.texts.iter().enumerate() {
        if life.strong_count() == 0 || state.slots.is_stopping() {
            return Err(ApiError::stopping());
        }
        let embedded = state.embedder.embed(tokens);
        let embedded = embedded.map_err(|error| ApiError::of_engine("input", &error))?;
        let vector = match request.dimensions {
            Some(count) => shortened(&embedded, count),
            None => embedded,
        };
        let vector = match request.is_base64 {
            true => json!(base64(&vector)),
            false => json!(vector),
        };
        data.push(json!({"object": "embedding", "index": index, "embedding": vector}));
        used += tokens.len();
    }
    Ok(json!({
        "object": "list",
        "data": data,
        "model": state.name,
        "usage": {"prompt_tokens": used, "total_tokens": used},
    }))
}

/// The first elements, divided by their length.
fn shortened(vector: &[f32], count: usize) -> Vec<f32> {
    let kept = &vector[..count];
    let squares = kept.iter().map(|&value| f64::from(value).powi(2));
    let length = squares.sum::<f64>().sqrt();
    let length = if length > 0.0 { length } else { 1.0 };
    let divided = kept.iter().map(|&value| (f64::from(value) / length) as f32);
    divided.collect()
}

/// The bytes of the numbers, the lowest of each first.
fn base64(vector: &[f32]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes: Vec<u8> = vector
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut group = [0; 4];
        group[1..=chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes(group);
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit)) as usize % 64;
            text.push(match digit <= chunk.len() {
                true => char::from(DIGITS[value]),
                false => '=',
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_has_four_digits_for_three_bytes() {
        assert_eq!(base64(&[]), "");
        assert_eq!(base64(&[1.0]), "AACAPw==");
        assert_eq!(base64(&[1.0, -2.5]), "AACAPwAAIMA=");
        assert_eq!(base64(&[0.1, 3.0, f32::MAX]), "zczMPQAAQED//39/");
    }
}
