//! [`Family`]: what the class of a model says of its keys and tensors.

/// How the tensors of a class become those of an architecture of GGUF files.
#[derive(Debug)]
pub(super) struct Family {
    /// As `architectures` of `config.json` has it.
    pub class: &'static str,
    /// As `general.architecture` has it.
    pub architecture: &'static str,
    /// Whether GGUF files of the architecture have the rows of a rotary pair side by side; here they are half a head apart.
    pub is_interleaved: bool,
    /// Whether norms are kept without the 1 that is added to them.
    pub has_small_norms: bool,
    /// The activation of the feed-forward layers.
    pub activation: &'static str,
    pub windows: Windows,
    pub experts: Option<Experts>,
    /// Names of the parts of layers that differ from [`PARTS`].
    parts: &'static [(&'static str, &'static str)],
}

/// Which layers see only the last keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Windows {
    /// None: the class ignores the length of a window.
    Never,
    /// None of those that the engine runs.
    IfUsed,
    /// All, if there is a length.
    All,
    /// Those that `layer_types` names, or all but one of so many.
    AllButOneOf(u32),
}

/// The matrices of experts. Each is a tensor of its own.
#[derive(Debug)]
pub(super) struct Experts {
    /// What stands before the number of the expert.
    pub prefix: &'static str,
    /// What stands behind it, and the name of the tensor of all.
    pub matrices: [(&'static str, &'static str); 3],
}

/// The parts of layers, as most classes call them, and as GGUF files do.
const PARTS: &[(&str, &str)] = &[
    ("input_layernorm", "attn_norm"),
    ("self_attn.q_proj", "attn_q"),
    ("self_attn.k_proj", "attn_k"),
    ("self_attn.v_proj", "attn_v"),
    ("self_attn.qkv_proj", "attn_qkv"),
    ("self_attn.o_proj", "attn_output"),
    ("self_attn.q_norm", "attn_q_norm"),
    ("self_attn.k_norm", "attn_k_norm"),
    ("post_attention_layernorm", "ffn_norm"),
    ("mlp.gate_proj", "ffn_gate"),
    ("mlp.up_proj", "ffn_up"),
    ("mlp.gate_up_proj", "ffn_up"),
    ("mlp.down_proj", "ffn_down"),
    ("mlp.gate", "ffn_gate_inp"),
];

const PLAIN: Family = Family {
    class: "",
    architecture: "",
    is_interleaved: false,
    has_small_norms: false,
    activation: "silu",
    windows: Windows::Never,
    experts: None,
    parts: &[],
};

const GEMMA: Family = Family {
    has_small_norms: true,
    activation: "gelu_pytorch_tanh",
    // These norm what layers add to the residual stream, under the name that others have for the next norm.
    parts: &[
        ("post_attention_layernorm", "post_attention_norm"),
        ("pre_feedforward_layernorm", "ffn_norm"),
        ("post_feedforward_layernorm", "post_ffw_norm"),
    ],
    ..PLAIN
};

const ALL: &[Family] = &[
    Family {
        class: "LlamaForCausalLM",
        architecture: "llama",
        is_interleaved: true,
        ..PLAIN
    },
    Family {
        class: "MistralForCausalLM",
        architecture: "llama",
        is_interleaved: true,
        windows: Windows::All,
        ..PLAIN
    },
    Family {
        class: "MixtralForCausalLM",
        architecture: "llama",
        is_interleaved: true,
        windows: Windows::All,
        experts: Some(Experts {
            prefix: "block_sparse_moe.experts.",
            matrices: [
                ("w1", "ffn_gate_exps"),
                ("w3", "ffn_up_exps"),
                ("w2", "ffn_down_exps"),
            ],
        }),
        parts: &[("block_sparse_moe.gate", "ffn_gate_inp")],
        ..PLAIN
    },
    Family {
        class: "Qwen2ForCausalLM",
        architecture: "qwen2",
        windows: Windows::IfUsed,
        ..PLAIN
    },
    Family {
        class: "Qwen3ForCausalLM",
        architecture: "qwen3",
        windows: Windows::IfUsed,
        ..PLAIN
    },
    Family {
        class: "Qwen3MoeForCausalLM",
        architecture: "qwen3moe",
        windows: Windows::IfUsed,
        experts: Some(Experts {
            prefix: "mlp.experts.",
            matrices: [
                ("gate_proj", "ffn_gate_exps"),
                ("up_proj", "ffn_up_exps"),
                ("down_proj", "ffn_down_exps"),
            ],
        }),
        ..PLAIN
    },
    Family {
        class: "SmolLM3ForCausalLM",
        architecture: "smollm3",
        is_interleaved: true,
        windows: Windows::IfUsed,
        ..PLAIN
    },
    Family {
        class: "GraniteForCausalLM",
        architecture: "granite",
        is_interleaved: true,
        ..PLAIN
    },
    Family {
        class: "Phi3ForCausalLM",
        architecture: "phi3",
        windows: Windows::All,
        ..PLAIN
    },
    Family {
        class: "Gemma2ForCausalLM",
        architecture: "gemma2",
        windows: Windows::AllButOneOf(2),
        ..GEMMA
    },
    Family {
        class: "Gemma3ForCausalLM",
        architecture: "gemma3",
        windows: Windows::AllButOneOf(6),
        ..GEMMA
    },
];

impl Family {
    /// The family of this class.
    pub fn named(class: &str) -> Option<&'static Family> {
        ALL.iter().find(|family| family.class == class)
    }

    /// The name in GGUF files of a part of a layer.
    pub fn part(&self, name: &str) -> Option<&'static str> {
        let mut parts = self.parts.iter().chain(PARTS);
        parts.find(|part| part.0 == name).map(|part| part.1)
    }
}

/// The names of all classes, for errors.
pub(super) fn classes() -> String {
    let classes: Vec<&str> = ALL.iter().map(|family| family.class).collect();
    classes.join(", ")
}
