//! Formats of weights as arguments.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use metal_bridge::ops::WeightType;

/// Takes the name of one of `formats`, such as `q8_0`.
pub fn one_of(
    formats: impl IntoIterator<Item = WeightType>,
) -> impl TypedValueParser<Value = WeightType> {
    let names = formats.into_iter().map(WeightType::name);
    PossibleValuesParser::new(names).try_map(|name| {
        let named = |kind: &WeightType| kind.name() == name.to_lowercase();
        WeightType::ALL
            .into_iter()
            .find(named)
            .ok_or("no such format")
    })
}
