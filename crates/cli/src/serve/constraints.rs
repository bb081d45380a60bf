//! What a request wants its text to be: JSON, or a text of a grammar.

use metal_bridge_llama::Model;
use metal_bridge_llama::constraint::{Constraint, Grammar};
use serde_json::Value;

use super::error::ApiError;
use super::fields::{Fields, missing, wrong_type};

/// OpenAI's field.
const FORMAT: &str = "response_format";
/// vLLM's field, for what OpenAI has none for.
const STRUCTURE: &str = "structured_outputs";

/// A field, and the grammar that it asks for.
pub type Wanted = Option<(&'static str, Grammar)>;

/// The constraint of a request, if it has one. Making it takes a while.
pub fn make(wanted: Wanted, model: &Model) -> Result<Option<Constraint>, ApiError> {
    let made = wanted.map(|(name, grammar)| {
        let constraint = model.constraint(grammar);
        constraint.map_err(|error| ApiError::field(name, "invalid_value", error))
    });
    made.transpose()
}

/// What the fields of a request ask for.
pub fn parse(fields: &mut Fields) -> Result<Wanted, ApiError> {
    match (format(fields)?, structure(fields)?) {
        (Some(_), Some(_)) => {
            let message = format!("{FORMAT:?} and {STRUCTURE:?} both constrain the text");
            Err(ApiError::field(STRUCTURE, "invalid_value", message))
        }
        (format, structure) => {
            let format = format.map(|grammar| (FORMAT, grammar));
            Ok(format.or(structure.map(|grammar| (STRUCTURE, grammar))))
        }
    }
}

fn format(fields: &mut Fields) -> Result<Option<Grammar>, ApiError> {
    let Some(format) = fields.object(FORMAT)? else {
        return Ok(None);
    };
    let mut format = Fields::of(format);
    let kind = format.text("type")?.ok_or_else(|| missing("type"))?;
    let grammar = match &kind[..] {
        "text" => None,
        "json_object" => Some(Grammar::JsonObject),
        "json_schema" => {
            let inner = format.object("json_schema")?;
            let inner = inner.ok_or_else(|| missing("json_schema"))?;
            let mut inner = Fields::of(inner);
            inner.text("name")?;
            inner.text("description")?;
            // Either way the schema is kept to.
            inner.flag("strict")?;
            let schema = inner.take("schema").ok_or_else(|| missing("schema"))?;
            inner.finish()?;
            Some(Grammar::JsonSchema(schema.to_string()))
        }
        _ => return Err(ApiError::unsupported(FORMAT)),
    };
    format.finish()?;
    Ok(grammar)
}

fn structure(fields: &mut Fields) -> Result<Option<Grammar>, ApiError> {
    let Some(structure) = fields.object(STRUCTURE)? else {
        return Ok(None);
    };
    let mut structure = Fields::of(structure);
    let schema = match structure.take("json") {
        None => None,
        Some(Value::String(text)) => Some(text),
        Some(schema @ Value::Object(_)) => Some(schema.to_string()),
        Some(_) => return Err(wrong_type("json", "a JSON schema")),
    };
    let is_object = structure.flag("json_object")?.unwrap_or_default();
    let found = [
        schema.map(Grammar::JsonSchema),
        is_object.then_some(Grammar::JsonObject),
        structure.text("regex")?.map(Grammar::Regex),
        structure.text("grammar")?.map(Grammar::Lark),
    ];
    structure.finish()?;
    let mut found = found.into_iter().flatten();
    match (found.next(), found.next()) {
        (Some(grammar), None) => Ok(Some(grammar)),
        _ => {
            let message = format!(
                "{STRUCTURE:?} has one of \"json\", \"json_object\", \"regex\" and \"grammar\""
            );
            Err(ApiError::field(STRUCTURE, "invalid_value", message))
        }
    }
}
