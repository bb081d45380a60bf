//! [`SessionOptions`].

use metal_bridge::ops::{Activations, KvElement};

/// What a [`Session`](super::Session) has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionOptions {
    /// The most tokens that the session can hold; by default the model's context, but not more than 4096, since the
    /// caches are allocated whole.
    pub context: Option<usize>,
    /// The tokens whose keys and values the caches hold, of all texts of a [`Scheduler`](super::Scheduler) together, rounded up to whole pages
    /// of 32; by default as many as all its slots have in their contexts. At least those of one context. A session has one context.
    pub cache: Option<usize>,
    /// The most tokens of a prompt that are computed at once.
    pub batch: usize,
    /// How the cache stores keys and values. F16 halves the cache's memory and rounds: the logits of a long text then
    /// differ by some 1e-4 if the text is fed in other batches.
    pub cache_element: KvElement,
    /// What weights in blocks (all formats but F32, F16 and BF16) are multiplied by: activations as they are, the default, or rounded
    /// to 8 bits, so that products are sums of whole numbers. Rounding moves logits by about a hundredth of their size;
    /// `docs/engine.md` has figures, and `docs/performance.md` what is gained. It is meant for devices that run lanes one after
    /// another: on a GPU a prompt's products take the kernels for few rows, too. If the session is
    /// [deterministic](Self::deterministic), a text is the same, bit for bit, whatever is computed beside it, as with f32.
    pub activations: Activations,
    /// Records the dispatches of a token once and replays them for each token that is fed alone, which takes the CPU less time.
    /// The results are the same. The devices have to
    /// [execute](metal_bridge::Device::supports_indirect_command_buffers) indirect command buffers.
    pub replay: bool,
    /// Chooses kernels of products by what is computed, prompts or next tokens, and not by how many rows these are together.
    /// Then a text is the same, bit for bit, whatever a [`Scheduler`](super::Scheduler) computes beside it.
    pub deterministic: bool,
    /// The most tokens that are guessed and computed together with the next tokens of all texts; 0, the default, guesses none. What came after
    /// the same words before is the guess (prompt look-up). A text keeps what it would have chosen anyway, with any sampling: it is the same
    /// text, bit for bit if the session is [deterministic](Self::deterministic), and sooner there if it repeats much of itself or of its prompt.
    pub draft_tokens: usize,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            context: None,
            cache: None,
            batch: 256,
            cache_element: KvElement::F32,
            activations: Activations::F32,
            replay: false,
            deterministic: false,
            draft_tokens: 0,
        }
    }
}
