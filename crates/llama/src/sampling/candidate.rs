//! [`Candidate`]: a token with its logit.

/// A token that can still be drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub token: u32,
    pub logit: f32,
    /// Its probability, times a factor that all share.
    pub weight: f64,
}

impl Candidate {
    pub fn new(token: u32, logit: f32) -> Self {
        Self {
            token,
            // The sum makes -0.0 a 0.0, which `total_cmp` would put behind it.
            logit: logit + 0.0,
            weight: 0.0,
        }
    }
}

/// The higher logit comes first; of equal logits the lower token, so that the order does not depend on the algorithm.
pub(super) fn better_first(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    b.logit.total_cmp(&a.logit).then(a.token.cmp(&b.token))
}
