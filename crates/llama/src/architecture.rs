//! [`Architecture`]: what the name of an architecture says of a model, beyond the keys and tensors of its file.

use metal_bridge::ops::{Gate, RopePairing};

/// What files of an architecture do not say themselves.
#[derive(Debug)]
pub(super) struct Architecture {
    /// As `general.architecture` has it.
    pub name: &'static str,
    pub pairing: RopePairing,
    pub gate: Gate,
    /// Which products have a bias. Others have one if the file has it.
    pub biases: Biases,
    /// Whether attention has sinks.
    pub has_sinks: bool,
    /// The name of the norm before feed-forward layers.
    pub feed_forward_norm: &'static str,
    /// Whether YaRN counts pairs in whole numbers.
    pub has_whole_yarn: bool,
    /// Whether each head of the queries and keys is normed.
    pub has_head_norms: bool,
    /// Whether attention and feed-forward layers are normed before they are added to the residual stream.
    pub has_post_norms: bool,
    /// Whether files have factors on embeddings, on what layers add to the residual stream, and on logits.
    pub has_scales: bool,
    /// Whether files have soft caps of attention scores and logits.
    pub has_soft_caps: bool,
    /// Whether embeddings are multiplied by the square root of the width.
    pub has_wide_embeddings: bool,
    pub windows: Windows,
    pub experts: Experts,
    /// Layers with a window have a rotary embedding of their own, with this base unless the file says another.
    pub window_rope_base: Option<f32>,
    /// Every so many layers one does not have a rotary embedding.
    pub layers_to_no_rope: Option<usize>,
    /// With so many layers, attention's scale comes from the width for each head: files do not say it.
    pub scaled_by_width: Option<usize>,
}

/// Which layers see only the last keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Windows {
    /// None.
    Never,
    /// All, if the file has the length of a window.
    IfGiven,
    /// All but one of each so many layers: the last one.
    AllButOneOf(usize),
}

/// Which products have a bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Biases {
    /// Those of which the file has it.
    IfGiven,
    /// Those for queries, keys and values.
    QueryKeyValue,
    /// All within layers.
    All,
}

/// Whether the feed-forward layers are mixtures of experts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Experts {
    /// They are not.
    Never,
    /// They are if the file has a number of experts.
    IfGiven,
    /// They are.
    Always,
}

/// What most architectures have.
const PLAIN: Architecture = Architecture {
    name: "llama",
    pairing: RopePairing::HalfSplit,
    gate: Gate::Silu,
    biases: Biases::IfGiven,
    has_sinks: false,
    feed_forward_norm: "ffn_norm",
    has_whole_yarn: true,
    has_head_norms: false,
    has_post_norms: false,
    has_scales: false,
    has_soft_caps: false,
    has_wide_embeddings: false,
    windows: Windows::Never,
    experts: Experts::Never,
    window_rope_base: None,
    layers_to_no_rope: None,
    scaled_by_width: None,
};

const GEMMA: Architecture = Architecture {
    gate: Gate::GeluTanh,
    has_post_norms: true,
    has_wide_embeddings: true,
    ..PLAIN
};

const ALL: &[Architecture] = &[
    // Files of Mistral and Mixtral say that they are Llamas.
    Architecture {
        name: "llama",
        pairing: RopePairing::Interleaved,
        windows: Windows::IfGiven,
        experts: Experts::IfGiven,
        ..PLAIN
    },
    Architecture {
        name: "qwen2",
        biases: Biases::QueryKeyValue,
        ..PLAIN
    },
    Architecture {
        name: "qwen3",
        has_head_norms: true,
        ..PLAIN
    },
    Architecture {
        name: "qwen3moe",
        has_head_norms: true,
        experts: Experts::Always,
        ..PLAIN
    },
    Architecture {
        name: "gpt-oss",
        gate: Gate::Clamped,
        biases: Biases::All,
        has_sinks: true,
        feed_forward_norm: "post_attention_norm",
        has_whole_yarn: false,
        windows: Windows::AllButOneOf(2),
        experts: Experts::Always,
        ..PLAIN
    },
    Architecture {
        name: "smollm3",
        pairing: RopePairing::Interleaved,
        layers_to_no_rope: Some(4),
        ..PLAIN
    },
    Architecture {
        name: "granite",
        pairing: RopePairing::Interleaved,
        has_scales: true,
        ..PLAIN
    },
    Architecture {
        name: "phi3",
        windows: Windows::IfGiven,
        ..PLAIN
    },
    Architecture {
        name: "gemma2",
        has_soft_caps: true,
        windows: Windows::AllButOneOf(2),
        scaled_by_width: Some(46),
        ..GEMMA
    },
    Architecture {
        name: "gemma3",
        has_head_norms: true,
        windows: Windows::AllButOneOf(6),
        window_rope_base: Some(10_000.0),
        scaled_by_width: Some(62),
        ..GEMMA
    },
];

impl Architecture {
    /// The architecture of this name.
    pub fn named(name: &str) -> Option<&'static Architecture> {
        ALL.iter().find(|architecture| architecture.name == name)
    }

    /// Whether the layer sees only the keys of its window.
    pub fn has_window(&self, layer: usize) -> bool {
        match self.windows {
            Windows::Never => false,
            Windows::IfGiven => true,
            Windows::AllButOneOf(layers) => (layer + 1) % layers != 0,
        }
    }

    /// Whether the layer has a rotary embedding.
    pub fn has_rope(&self, layer: usize) -> bool {
        self.layers_to_no_rope
            .is_none_or(|layers| (layer + 1) % layers != 0)
    }
}

/// The names of all architectures, for errors.
pub(super) fn names() -> String {
    let names: Vec<&str> = ALL.iter().map(|architecture| architecture.name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_layers_are_those_of_the_models() {
        let which = |name: &str, has: fn(&Architecture, usize) -> bool| -> Vec<usize> {
            let architecture = Architecture::named(name).unwrap();
            (0..8).filter(|&layer| has(architecture, layer)).collect()
        };
        assert_eq!(which("gemma2", Architecture::has_window), [0, 2, 4, 6]);
        assert_eq!(
            which("gemma3", Architecture::has_window),
            [0, 1, 2, 3, 4, 6, 7]
        );
        assert_eq!(which("smollm3", Architecture::has_rope), [0, 1, 2, 4, 5, 6]);
    }

    /// A factor on what a layer adds, and the sum of what experts give, would have to come after the norm.
    #[test]
    fn no_architecture_scales_or_mixes_what_it_norms() {
        let sums = |one: &Architecture| one.has_scales || one.experts != Experts::Never;
        assert!(ALL.iter().all(|one| !(one.has_post_norms && sums(one))));
    }
}
