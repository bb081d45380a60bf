//! Chooses the next token from logits.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{RngCore, SeedableRng};

/// How the next token is chosen.
///
/// The order of the steps is llama.cpp's. First, the `top_k` best tokens are kept; then, of these, the fewest whose
/// probabilities add up to `top_p`; then those that are likely enough beside the best one (`min_p`). Last, `temperature`
/// flattens or sharpens the probabilities, and one token is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Divides the logits before drawing. 0 is greedy: always the best token.
    pub temperature: f32,
    /// How many of the best tokens to draw from; 0 is all.
    pub top_k: usize,
    /// Draw from the fewest tokens whose probabilities add up to this; 1 is all.
    pub top_p: f32,
    /// Draw from the tokens that have at least this part of the best one's probability; 0 is all.
    pub min_p: f32,
    /// Equal seeds draw equal tokens from equal logits.
    pub seed: u64,
}

impl Default for Sampling {
    /// Greedy.
    fn default() -> Self {
        Self {
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            seed: 0,
        }
    }
}

/// A setting of [`Sampling`] out of its range, or logits that cannot be sampled from.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SamplingError {
    /// The temperature is negative or not a number.
    #[error("temperature {0} is not a number from 0 up")]
    Temperature(f32),
    /// `top_p` is outside of 0 to 1.
    #[error("top-p {0} is not between 0 and 1")]
    TopP(f32),
    /// `min_p` is outside of 0 to 1.
    #[error("min-p {0} is not between 0 and 1")]
    MinP(f32),
    /// No logit is a number: the model's weights or its computation are broken.
    #[error("none of the logits is a finite number")]
    NoLogits,
}

/// Draws tokens; deterministic for one [`Sampling`].
#[derive(Clone, Debug)]
pub struct Sampler {
    settings: Sampling,
    random: Pcg64Mcg,
    /// The tokens that can still be drawn; kept so that no token needs an allocation.
    candidates: Vec<Candidate>,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    token: u32,
    logit: f32,
    weight: f64,
}

impl Sampler {
    /// A sampler at the beginning of its random sequence.
    ///
    /// # Errors
    ///
    /// [`SamplingError::Temperature`], [`SamplingError::TopP`] and [`SamplingError::MinP`].
    pub fn new(settings: Sampling) -> Result<Self, SamplingError> {
        if !(settings.temperature >= 0.0 && settings.temperature.is_finite()) {
            return Err(SamplingError::Temperature(settings.temperature));
        }
        if !(0.0..=1.0).contains(&settings.top_p) {
            return Err(SamplingError::TopP(settings.top_p));
        }
        if !(0.0..=1.0).contains(&settings.min_p) {
            return Err(SamplingError::MinP(settings.min_p));
        }
        let random = Pcg64Mcg::seed_from_u64(settings.seed);
        Ok(Self {
            settings,
            random,
            candidates: Vec::new(),
        })
    }

    /// Whether only the best token matters, so that the logits need not be read back.
    pub fn is_greedy(&self) -> bool {
        self.settings.temperature == 0.0 || self.settings.top_k == 1
    }

    /// Draws a token. `logits` has one element a token of the vocabulary; those that are not finite are left out.
    ///
    /// # Errors
    ///
    /// [`SamplingError::NoLogits`].
    pub fn sample(&mut self, logits: &[f32]) -> Result<u32, SamplingError> {
        let usable = (0u32..).zip(logits).filter(|(_, logit)| logit.is_finite());
        self.candidates.clear();
        self.candidates
            .extend(usable.map(|(token, &logit)| Candidate {
                token,
                // The sum makes -0.0 a 0.0, which `total_cmp` would put behind it.
                logit: logit + 0.0,
                weight: 0.0,
            }));
        if self.is_greedy() {
            let best = self.candidates.iter().min_by(|a, b| better_first(a, b));
            return best.map(|best| best.token).ok_or(SamplingError::NoLogits);
        }
        self.keep_top_k();
        self.keep_top_p();
        self.keep_min_p();
        self.draw()
    }

    /// Keeps the best tokens and puts them in order if a later step needs it.
    fn keep_top_k(&mut self) {
        let count = self.settings.top_k;
        if count > 0 && count < self.candidates.len() {
            self.candidates
                .select_nth_unstable_by(count - 1, better_first);
            self.candidates.truncate(count);
        }
        self.candidates.sort_unstable_by(better_first);
    }

    fn keep_top_p(&mut self) {
        if self.settings.top_p >= 1.0 {
            return;
        }
        let total = self.weigh(1.0);
        let mut sum = 0.0;
        let enough = self.candidates.iter().position(|candidate| {
            sum += candidate.weight;
            sum >= f64::from(self.settings.top_p) * total
        });
        // At least the best token stays, whatever the limit.
        self.candidates
            .truncate(enough.map_or(usize::MAX, |last| last + 1));
    }

    fn keep_min_p(&mut self) {
        if self.settings.min_p > 0.0 {
            self.weigh(1.0);
            let least = f64::from(self.settings.min_p);
            // The weight of the best token is 1.
            self.candidates
                .retain(|candidate| candidate.weight >= least);
        }
    }

    fn draw(&mut self) -> Result<u32, SamplingError> {
        let total = self.weigh(f64::from(self.settings.temperature));
        // A double has room for 53 random bits between 0 and 1.
        let uniform = (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let mut left = uniform * total;
        for candidate in &self.candidates {
            left -= candidate.weight;
            if left < 0.0 {
                return Ok(candidate.token);
            }
        }
        // If rounding leaves a rest, it goes to the best token. Without candidates there is no such token.
        self.candidates
            .first()
            .map(|best| best.token)
            .ok_or(SamplingError::NoLogits)
    }

    /// Sets each weight to the token's probability times a factor that all share, and gives the weights' sum.
    fn weigh(&mut self, temperature: f64) -> f64 {
        let best = self
            .candidates
            .first()
            .map_or(0.0, |best| f64::from(best.logit));
        for candidate in &mut self.candidates {
            candidate.weight = ((f64::from(candidate.logit) - best) / temperature).exp();
        }
        self.candidates
            .iter()
            .map(|candidate| candidate.weight)
            .sum()
    }
}

/// The higher logit comes first; of equal logits the lower token, so that the order does not depend on the algorithm.
fn better_first(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    b.logit.total_cmp(&a.logit).then(a.token.cmp(&b.token))
}

#[cfg(test)]
mod tests {
    use approx::abs_diff_eq;

    use super::*;

    const LOGITS: [f32; 5] = [1.0, 3.0, 2.0, f32::NAN, 3.0];

    fn draw(settings: Sampling, count: usize) -> Vec<u32> {
        let mut sampler = Sampler::new(settings).unwrap();
        (0..count)
            .map(|_| sampler.sample(&LOGITS).unwrap())
            .collect()
    }

    #[test]
    fn greedy_takes_the_first_of_the_best() {
        assert_eq!(draw(Sampling::default(), 3), [1, 1, 1]);
        assert_eq!(
            draw(
                Sampling {
                    temperature: 5.0,
                    top_k: 1,
                    ..Sampling::default()
                },
                2
            ),
            [1, 1]
        );
    }

    #[test]
    fn logits_of_both_zeros_are_equal() {
        let mut greedy = Sampler::new(Sampling::default()).unwrap();
        assert_eq!(greedy.sample(&[-1.0, -0.0, 0.0]).unwrap(), 1);
        assert_eq!(greedy.sample(&[-1.0, 0.0, -0.0]).unwrap(), 1);
    }

    #[test]
    fn frequencies_follow_the_softmax_of_what_is_kept() {
        let settings = Sampling {
            temperature: 2.0,
            seed: 7,
            ..Sampling::default()
        };
        let tokens = draw(settings, 40_000);
        let weights: Vec<f64> = [1.0, 3.0, 2.0, f64::NEG_INFINITY, 3.0]
            .iter()
            .map(|l: &f64| (l / 2.0).exp())
            .collect();
        let total: f64 = weights.iter().sum();
        for (token, weight) in weights.iter().enumerate() {
            let seen = tokens.iter().filter(|&&t| t as usize == token).count() as f64 / 40_000.0;
            assert!(
                abs_diff_eq!(seen, weight / total, epsilon = 0.01),
                "token {token}: {seen} for {}",
                weight / total
            );
        }
    }

    #[test]
    fn top_k_and_top_p_leave_tokens_out() {
        let hot = Sampling {
            temperature: 100.0,
            seed: 3,
            ..Sampling::default()
        };
        let distinct = |settings| {
            let tokens: std::collections::BTreeSet<u32> =
                draw(settings, 2_000).into_iter().collect();
            tokens.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(distinct(hot), [0, 1, 2, 4]);
        assert_eq!(distinct(Sampling { top_k: 3, ..hot }), [1, 2, 4]);
        // The two best have 0.40 each, the next 0.15: judged before the temperature flattens them.
        assert_eq!(distinct(Sampling { top_p: 0.79, ..hot }), [1, 4]);
        assert_eq!(distinct(Sampling { top_p: 0.85, ..hot }), [1, 2, 4]);
        assert_eq!(distinct(Sampling { top_p: 0.0, ..hot }), [1]);
        // Beside the best ones, the next has 0.37 of their probability, and the last 0.14.
        assert_eq!(distinct(Sampling { min_p: 0.13, ..hot }), [0, 1, 2, 4]);
        assert_eq!(distinct(Sampling { min_p: 0.36, ..hot }), [1, 2, 4]);
        assert_eq!(distinct(Sampling { min_p: 1.0, ..hot }), [1, 4]);
    }

    #[test]
    fn a_seed_repeats_its_sequence() {
        let settings = Sampling {
            temperature: 1.0,
            seed: 42,
            ..Sampling::default()
        };
        assert_eq!(draw(settings, 50), draw(settings, 50));
        assert_ne!(
            draw(settings, 50),
            draw(
                Sampling {
                    seed: 43,
                    ..settings
                },
                50
            )
        );
    }

    #[test]
    fn bad_settings_and_logits_are_errors() {
        let with = |temperature, top_p| {
            Sampler::new(Sampling {
                temperature,
                top_p,
                ..Sampling::default()
            })
            .err()
        };
        assert_eq!(with(-1.0, 1.0), Some(SamplingError::Temperature(-1.0)));
        assert!(matches!(
            with(f32::NAN, 1.0),
            Some(SamplingError::Temperature(_))
        ));
        assert_eq!(with(1.0, 1.5), Some(SamplingError::TopP(1.5)));
        let negative = Sampling {
            min_p: -0.1,
            ..Sampling::default()
        };
        let refused = Sampler::new(negative).err();
        assert_eq!(refused, Some(SamplingError::MinP(-0.1)));
        for temperature in [0.0, 1.0] {
            let mut sampler = Sampler::new(Sampling {
                temperature,
                ..Sampling::default()
            })
            .unwrap();
            assert_eq!(sampler.sample(&[f32::NAN; 4]), Err(SamplingError::NoLogits));
            assert_eq!(sampler.sample(&[]), Err(SamplingError::NoLogits));
        }
    }
}
