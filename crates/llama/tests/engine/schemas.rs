//! Random JSON schemas, and which values are of a schema.

use rand::Rng;
use rand::rngs::SmallRng;
use serde_json::{Map, Value, json};

/// A schema whose parts have at most `depth` parts in each other.
pub fn random(rng: &mut SmallRng, depth: usize) -> Value {
    match rng.random_range(0..if depth > 0 { 10 } else { 6 }) {
        0 => json!({"type": "boolean"}),
        1 => json!({"enum": ["red", "green", 7, null, [1, "x"], "q\"\\"]}),
        2 => json!({"const": {"a": [true, -2]}}),
        3 => {
            let least = rng.random_range(-500..500);
            json!({"type": "integer", "minimum": least, "maximum": least + rng.random_range(0..300)})
        }
        4 => {
            let least = rng.random_range(0..4);
            json!({"type": "string", "minLength": least, "maxLength": least + rng.random_range(0..4)})
        }
        5 => json!({"type": ["null", "boolean"]}),
        6 => {
            let least = rng.random_range(0..3);
            let most = least + rng.random_range(0..3);
            json!({"type": "array", "items": random(rng, depth - 1), "minItems": least, "maxItems": most})
        }
        7 => json!({"anyOf": [random(rng, depth - 1), random(rng, depth - 1)]}),
        _ => {
            let names = ["name", "a b", "\u{e9}", "n\n", "size"];
            let count = rng.random_range(0..names.len());
            let properties = names[..count].iter();
            let properties: Map<_, _> = properties
                .map(|&name| (name.to_owned(), random(rng, depth - 1)))
                .collect();
            let required: Vec<&str> = names[..count]
                .iter()
                .copied()
                .filter(|_| rng.random())
                .collect();
            json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            })
        }
    }
}

/// Whether a value is of a schema that [`random`] makes.
pub fn is_valid(schema: &Value, value: &Value) -> bool {
    let least = |key: &str| schema[key].as_i64().unwrap();
    if let Some(values) = schema["enum"].as_array() {
        return values.contains(value);
    }
    if let Some(constant) = schema.get("const") {
        return constant == value;
    }
    if let Some(schemas) = schema["anyOf"].as_array() {
        return schemas.iter().any(|schema| is_valid(schema, value));
    }
    match schema["type"].as_str() {
        Some("boolean") => value.is_boolean(),
        Some("integer") => value
            .as_i64()
            .is_some_and(|value| (least("minimum")..=least("maximum")).contains(&value)),
        Some("string") => value.as_str().is_some_and(|text| {
            let length = text.chars().count() as i64;
            (least("minLength")..=least("maxLength")).contains(&length)
        }),
        Some("array") => value.as_array().is_some_and(|items| {
            let count = items.len() as i64;
            (least("minItems")..=least("maxItems")).contains(&count)
                && items.iter().all(|item| is_valid(&schema["items"], item))
        }),
        Some("object") => value.as_object().is_some_and(|fields| {
            let mut required = schema["required"].as_array().unwrap().iter();
            required.all(|name| fields.contains_key(name.as_str().unwrap()))
                && fields.iter().all(|(name, value)| {
                    let property = schema["properties"].get(name);
                    property.is_some_and(|schema| is_valid(schema, value))
                })
        }),
        _ => value.is_null() || value.is_boolean(),
    }
}
