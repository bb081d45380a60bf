//! [`ConstraintChoice`]: what a generated text may be.

use metal_bridge_llama::Model;
use metal_bridge_llama::constraint::{Constraint, Grammar};

use super::failure::Failure;
use super::files;

/// What the generated text may be.
#[derive(clap::Args)]
#[group(multiple = false)]
pub struct ConstraintChoice {
    /// Generate JSON of this JSON schema: a file, or the schema itself, which begins with '{'
    #[arg(long, value_name = "SCHEMA")]
    json_schema: Option<String>,
    /// Generate a text that this regular expression matches as a whole
    #[arg(long, value_name = "REGEX")]
    regex: Option<String>,
    /// Generate a text of the grammar in this file, which is in the Lark format of llguidance
    #[arg(long, value_name = "FILE")]
    grammar: Option<String>,
}

impl ConstraintChoice {
    pub fn constraint(&self, model: &Model) -> Result<Option<Constraint>, Failure> {
        let grammar = if let Some(schema) = &self.json_schema {
            let is_schema = schema.trim_start().starts_with('{');
            let schema = match is_schema {
                true => schema.clone(),
                false => read(schema)?,
            };
            Grammar::JsonSchema(schema)
        } else if let Some(regex) = &self.regex {
            Grammar::Regex(regex.clone())
        } else if let Some(path) = &self.grammar {
            Grammar::Lark(read(path)?)
        } else {
            return Ok(None);
        };
        let constraint = model.constraint(grammar).map_err(Failure::new)?;
        Ok(Some(constraint))
    }
}

fn read(path: &str) -> Result<String, Failure> {
    let text = files::read_text(path, files::WRITTEN);
    text.map_err(|error| Failure::new(format!("{path}: {error}")))
}
