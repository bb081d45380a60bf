//! [`LogProbabilities`]: how likely a token was, and which tokens were the likeliest.

/// A token, and the natural logarithm of its probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogProbability {
    /// The token.
    pub token: u32,
    /// The logarithm: 0 for a certain token, less for all others.
    pub value: f64,
}

/// What the model says of a token and of those beside it: by its raw logits, before biases, penalties, temperature or
/// anything else that [`Sampling`](super::sampling::Sampling) does.
///
/// As in sampling, logits that are not finite are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct LogProbabilities {
    /// The token that was chosen.
    pub chosen: LogProbability,
    /// The likeliest tokens, the likeliest first; of equal ones the lower token first.
    pub likeliest: Vec<LogProbability>,
}

impl LogProbabilities {
    /// Of `token` and the `count` likeliest ones; `None` if the token's logit is not finite.
    pub(super) fn of(logits: &[f32], token: u32, count: usize) -> Option<Self> {
        let finite = || (0u32..).zip(logits.iter().copied());
        let finite = || finite().filter(|(_, logit)| logit.is_finite());
        let softmax = LogSoftmax::of(finite().map(|(_, logit)| logit));
        let chosen = logits
            .get(token as usize)
            .filter(|logit| logit.is_finite())?;
        let probability = |(token, logit): (u32, f32)| LogProbability {
            token,
            value: softmax.at(logit),
        };
        let chosen = probability((token, *chosen));

        let mut likeliest: Vec<(u32, f32)> = Vec::with_capacity(count.min(logits.len()));
        for (token, logit) in finite() {
            let place = likeliest.partition_point(|&(_, better)| better >= logit);
            if place < count {
                likeliest.truncate(count - 1);
                likeliest.insert(place, (token, logit));
            }
        }
        Some(Self {
            chosen,
            likeliest: likeliest.into_iter().map(probability).collect(),
        })
    }
}

/// The logarithms of the softmax of logits, in double precision.
pub(super) struct LogSoftmax {
    best: f64,
    /// The logarithm of the sum, where the best logit counts 1.
    log_total: f64,
}

impl LogSoftmax {
    pub fn of(logits: impl Iterator<Item = f32> + Clone) -> Self {
        let best = f64::from(logits.clone().fold(f32::NEG_INFINITY, f32::max));
        let total: f64 = logits.map(|logit| (f64::from(logit) - best).exp()).sum();
        Self {
            best,
            log_total: total.ln(),
        }
    }

    /// The logarithm of the probability of a token with this logit.
    pub fn at(&self, logit: f32) -> f64 {
        (f64::from(logit) - self.best) - self.log_total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_logarithms_of_the_softmax() {
        let logits = [1.0, 3.5, f32::NAN, -2.0, 3.5, f32::INFINITY, 0.25];
        let usable = [0, 1, 3, 4, 6];
        let total: f64 = usable
            .iter()
            .map(|&token| f64::from(logits[token]).exp())
            .sum();
        let exact = |token: u32| (f64::from(logits[token as usize]).exp() / total).ln();
        for count in [0, 1, 2, 3, 5, 9] {
            let found = LogProbabilities::of(&logits, 3, count).unwrap();
            assert_eq!(found.chosen.token, 3);
            let order = [1, 4, 0, 6, 3];
            let tokens: Vec<u32> = found.likeliest.iter().map(|one| one.token).collect();
            assert_eq!(tokens, order[..count.min(5)]);
            for one in found.likeliest.iter().chain([&found.chosen]) {
                assert!((one.value - exact(one.token)).abs() < 1e-12, "{one:?}");
            }
        }
        for token in [2, 5, 7] {
            assert_eq!(LogProbabilities::of(&logits, token, 1), None);
        }
    }

    #[test]
    fn distant_logits_lose_no_probability() {
        let found = LogProbabilities::of(&[-1e30, 88.0, 1e30, 1e30], 0, 1).unwrap();
        assert!((found.likeliest[0].value + 2f64.ln()).abs() < 1e-12);
        assert!(found.chosen.value < -1e30 && found.chosen.value.is_finite());
    }
}
