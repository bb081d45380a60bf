//! How a request wants its tokens chosen.

use metal_bridge_llama::sampling::{Sampler, Sampling, SamplingError};
use serde_json::Value;

use super::error::ApiError;
use super::fields::{Fields, wrong_type};

/// The settings of a request; those that it does not name are the server's.
pub fn parse(
    fields: &mut Fields,
    served: Sampling,
    vocabulary: usize,
) -> Result<Sampling, ApiError> {
    let number = |fields: &mut Fields, name: &str, served: f32| {
        Ok::<_, ApiError>(fields.number(name)?.unwrap_or(served))
    };
    let sampling = Sampling {
        temperature: number(fields, "temperature", served.temperature)?,
        top_k: fields.count("top_k")?.unwrap_or(served.top_k),
        top_p: number(fields, "top_p", served.top_p)?,
        min_p: number(fields, "min_p", served.min_p)?,
        repeat_penalty: number(fields, "repeat_penalty", served.repeat_penalty)?,
        repeat_last_n: repeat_last_n(fields)?.unwrap_or(served.repeat_last_n),
        frequency_penalty: number(fields, "frequency_penalty", served.frequency_penalty)?,
        presence_penalty: number(fields, "presence_penalty", served.presence_penalty)?,
        logit_bias: logit_bias(fields, vocabulary)?,
        // Made when all fields are known to be right.
        constraint: None,
        seed: fields.integer("seed")?.unwrap_or(served.seed),
    };
    Sampler::new(sampling.clone()).map_err(|error| {
        let param = match error {
            SamplingError::Temperature(_) => "temperature",
            SamplingError::TopP(_) => "top_p",
            SamplingError::MinP(_) => "min_p",
            SamplingError::RepeatPenalty(_) => "repeat_penalty",
            SamplingError::FrequencyPenalty(_) => "frequency_penalty",
            SamplingError::PresencePenalty(_) => "presence_penalty",
            _ => "logit_bias",
        };
        ApiError::field(param, "invalid_value", error)
    })?;
    Ok(sampling)
}

/// As in `llama-server`, -1 is all tokens.
fn repeat_last_n(fields: &mut Fields) -> Result<Option<usize>, ApiError> {
    const NAME: &str = "repeat_last_n";
    let Some(value) = fields.take(NAME) else {
        return Ok(None);
    };
    let count = match value.as_i64() {
        Some(-1) => Some(usize::MAX),
        _ => value.as_u64().and_then(|count| usize::try_from(count).ok()),
    };
    match count {
        Some(count) => Ok(Some(count)),
        None => Err(wrong_type(NAME, "an integer from -1 up")),
    }
}

fn logit_bias(fields: &mut Fields, vocabulary: usize) -> Result<Vec<(u32, f32)>, ApiError> {
    const NAME: &str = "logit_bias";
    let biases = fields.object(NAME)?.unwrap_or_default();
    let bias = |(key, value): (String, Value)| {
        let token = key.parse().ok().filter(|token: &u32| {
            // Each token has one spelling, so that none has two biases.
            token.to_string() == key && (*token as usize) < vocabulary
        });
        let token = token.ok_or_else(|| {
            let message =
                format!("{NAME:?} has the key {key:?}, which is not the number of a token");
            ApiError::field(NAME, "invalid_value", message)
        })?;
        match value.as_f64() {
            Some(bias) => Ok((token, bias as f32)),
            None => Err(wrong_type(NAME, "an object of numbers")),
        }
    };
    biases.into_iter().map(bias).collect()
}
