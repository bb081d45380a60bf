//! Chooses the next token from logits.

mod candidate;
mod penalties;
mod settings;

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{RngCore, SeedableRng};

use super::constraint::{Constraint, Follower};
use candidate::{Candidate, better_first};
use penalties::Penalties;
pub use settings::{Sampling, SamplingError};

/// Draws tokens; deterministic for one [`Sampling`]. It remembers the tokens that it draws, for the penalties.
#[derive(Clone, Debug)]
pub struct Sampler {
    settings: Sampling,
    random: Pcg64Mcg,
    penalties: Penalties,
    /// Where the text is under its constraint.
    follower: Option<Follower>,
    /// The tokens that can still be drawn; kept so that no token needs an allocation.
    candidates: Vec<Candidate>,
}

impl Sampler {
    /// A sampler at the beginning of its random sequence, before any token.
    ///
    /// # Errors
    ///
    /// A [`SamplingError`] that names the first setting out of its range.
    pub fn new(settings: Sampling) -> Result<Self, SamplingError> {
        settings.check()?;
        let random = Pcg64Mcg::seed_from_u64(settings.seed);
        let follower = settings.constraint.as_ref().map(Constraint::follow);
        Ok(Self {
            settings,
            follower,
            random,
            penalties: Penalties::default(),
            candidates: Vec::new(),
        })
    }

    /// Whether only the token with the best logit matters, so that the logits need not be read back.
    pub fn is_greedy(&self) -> bool {
        self.takes_best() && self.settings.leaves_logits()
    }

    fn takes_best(&self) -> bool {
        self.settings.temperature == 0.0 || self.settings.top_k == 1
    }

    /// Adds tokens of the prompt, which [`Sampling::repeat_penalty`] is for, too.
    pub fn add_prompt(&mut self, tokens: &[u32]) {
        self.penalties.add_prompt(tokens, &self.settings);
    }

    /// Draws a token, which is one of the generated text from then on. `logits` has one element a token of the
    /// vocabulary; those that are not finite are left out.
    ///
    /// # Errors
    ///
    /// [`SamplingError::NoLogits`], and [`SamplingError::Constraint`] where the text can neither go on nor end.
    pub fn sample(&mut self, logits: &[f32]) -> Result<u32, SamplingError> {
        self.find_candidates(logits)?;
        self.penalties.apply(&self.settings, &mut self.candidates);
        let token = match self.takes_best() {
            true => {
                let best = self.candidates.iter().min_by(|a, b| better_first(a, b));
                best.map(|best| best.token).ok_or(SamplingError::NoLogits)?
            }
            false => {
                self.keep_top_k();
                self.keep_top_p();
                self.keep_min_p();
                self.draw()?
            }
        };
        self.penalties.add_generated(token, &self.settings);
        if let Some(follower) = &mut self.follower {
            follower.push(token)?;
        }
        Ok(token)
    }

    /// Whether the constraint lets nothing come after the text.
    pub fn is_finished(&self) -> bool {
        self.follower.as_ref().is_some_and(Follower::is_finished)
    }

    /// In the order of the tokens.
    fn find_candidates(&mut self, logits: &[f32]) -> Result<(), SamplingError> {
        self.candidates.clear();
        let found = &mut self.candidates;
        let mut find = |token: usize| match logits.get(token) {
            Some(&logit) if logit.is_finite() => found.push(Candidate::new(token as u32, logit)),
            _ => {}
        };
        match &mut self.follower {
            Some(follower) => follower.allowed()?.iter_set_entries(find),
            None => (0..logits.len()).for_each(&mut find),
        }
        Ok(())
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
        assert_eq!(distinct(hot.clone()), [0, 1, 2, 4]);
        assert_eq!(
            distinct(Sampling {
                top_k: 3,
                ..hot.clone()
            }),
            [1, 2, 4]
        );
        // The two best have 0.40 each, the next 0.15: judged before the temperature flattens them.
        assert_eq!(
            distinct(Sampling {
                top_p: 0.79,
                ..hot.clone()
            }),
            [1, 4]
        );
        assert_eq!(
            distinct(Sampling {
                top_p: 0.85,
                ..hot.clone()
            }),
            [1, 2, 4]
        );
        assert_eq!(
            distinct(Sampling {
                top_p: 0.0,
                ..hot.clone()
            }),
            [1]
        );
        // Beside the best ones, the next has 0.37 of their probability, and the last 0.14.
        assert_eq!(
            distinct(Sampling {
                min_p: 0.13,
                ..hot.clone()
            }),
            [0, 1, 2, 4]
        );
        assert_eq!(
            distinct(Sampling {
                min_p: 0.36,
                ..hot.clone()
            }),
            [1, 2, 4]
        );
        assert_eq!(
            distinct(Sampling {
                min_p: 1.0,
                ..hot.clone()
            }),
            [1, 4]
        );
    }

    #[test]
    fn a_seed_repeats_its_sequence() {
        let sequence = |seed| {
            let settings = Sampling {
                temperature: 1.0,
                seed,
                ..Sampling::default()
            };
            draw(settings, 50)
        };
        assert_eq!(sequence(42), sequence(42));
        assert_ne!(sequence(42), sequence(43));
    }

    #[test]
    fn bad_settings_and_logits_are_errors() {
        let refused = |change: fn(&mut Sampling)| {
            let mut settings = Sampling::default();
            change(&mut settings);
            Sampler::new(settings).unwrap_err()
        };
        let negative = refused(|settings| settings.temperature = -1.0);
        assert_eq!(negative, SamplingError::Temperature(-1.0));
        let nan = refused(|settings| settings.temperature = f32::NAN);
        assert!(matches!(nan, SamplingError::Temperature(_)));
        let refusals = [
            (refused(|s| s.top_p = 1.5), SamplingError::TopP(1.5)),
            (refused(|s| s.min_p = -0.1), SamplingError::MinP(-0.1)),
            (
                refused(|s| s.repeat_penalty = 0.0),
                SamplingError::RepeatPenalty(0.0),
            ),
            (
                refused(|s| s.repeat_penalty = f32::INFINITY),
                SamplingError::RepeatPenalty(f32::INFINITY),
            ),
            (
                refused(|s| s.frequency_penalty = 2.5),
                SamplingError::FrequencyPenalty(2.5),
            ),
            (
                refused(|s| s.presence_penalty = -2.5),
                SamplingError::PresencePenalty(-2.5),
            ),
            (
                refused(|s| s.logit_bias = vec![(1, 100.0), (2, 101.0)]),
                SamplingError::LogitBias {
                    token: 2,
                    bias: 101.0,
                },
            ),
        ];
        for (found, expected) in refusals {
            assert_eq!(found, expected);
        }
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
