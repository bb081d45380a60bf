//! [`Penalties`]: the tokens before the next one, and what they and the biases make of its logits.

use std::collections::{BTreeMap, VecDeque};

use super::candidate::Candidate;
use super::settings::Sampling;

/// What the settings ask for of the tokens before.
#[derive(Clone, Debug, Default)]
pub(super) struct Penalties {
    /// The last tokens of the prompt and the text, for `repeat_penalty`.
    last: VecDeque<u32>,
    /// How often each token is among them.
    counts: BTreeMap<u32, usize>,
    /// How often each token is in the generated text, for the other penalties.
    generated: BTreeMap<u32, usize>,
}

impl Penalties {
    /// Takes tokens of the prompt.
    pub fn add_prompt(&mut self, tokens: &[u32], settings: &Sampling) {
        if settings.repeat_penalty == 1.0 {
            return;
        }
        let count = settings.repeat_last_n.min(tokens.len());
        for &token in &tokens[tokens.len() - count..] {
            self.last.push_back(token);
            *self.counts.entry(token).or_default() += 1;
        }
        while self.last.len() > settings.repeat_last_n {
            let Some(old) = self.last.pop_front() else {
                break;
            };
            let count = self.counts.entry(old).or_default();
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&old);
            }
        }
    }

    /// Takes a token of the text.
    pub fn add_generated(&mut self, token: u32, settings: &Sampling) {
        self.add_prompt(&[token], settings);
        if settings.penalizes_text() {
            *self.generated.entry(token).or_default() += 1;
        }
    }

    /// Changes the logits of candidates, which are in the order of their tokens.
    pub fn apply(&self, settings: &Sampling, candidates: &mut [Candidate]) {
        for &(token, bias) in &settings.logit_bias {
            change(candidates, token, |logit| logit + f64::from(bias));
        }
        let repeat = f64::from(settings.repeat_penalty);
        for &token in self.counts.keys() {
            change(candidates, token, |logit| match logit > 0.0 {
                true => logit / repeat,
                false => logit * repeat,
            });
        }
        let frequency = f64::from(settings.frequency_penalty);
        let presence = f64::from(settings.presence_penalty);
        for (&token, &count) in &self.generated {
            change(candidates, token, |logit| {
                logit - count as f64 * frequency - presence
            });
        }
    }
}

/// Changes the logit of a token, if it is a candidate.
fn change(candidates: &mut [Candidate], token: u32, changed: impl Fn(f64) -> f64) {
    let Ok(index) = candidates.binary_search_by_key(&token, |candidate| candidate.token) else {
        return;
    };
    let logit = &mut candidates[index].logit;
    let limit = f64::from(f32::MAX);
    // A small penalty can make a large logit infinite, and only finite ones can be compared. The sum makes -0.0 a 0.0.
    *logit = changed(f64::from(*logit)).clamp(-limit, limit) as f32 + 0.0;
}

#[cfg(test)]
mod tests {
    use super::super::Sampler;
    use super::*;

    const LOGITS: [f32; 6] = [2.0, -1.5, 0.75, f32::NAN, 3.0, -0.25];
    const PROMPT: [u32; 5] = [0, 4, 4, 5, 1];

    /// The definitions of OpenAI and llama.cpp, written out.
    fn expected(settings: &Sampling, prompt: &[u32], text: &[u32]) -> Vec<f64> {
        let all = [prompt, text].concat();
        let logit = |token: usize| {
            let is_it = |other: &u32| *other as usize == token;
            let mut logit = f64::from(LOGITS[token]);
            for &(biased, bias) in &settings.logit_bias {
                if biased as usize == token {
                    logit += f64::from(bias);
                }
            }
            if all.iter().rev().take(settings.repeat_last_n).any(is_it) {
                logit = if logit > 0.0 {
                    logit / f64::from(settings.repeat_penalty)
                } else {
                    logit * f64::from(settings.repeat_penalty)
                };
            }
            let count = text.iter().filter(|other| is_it(other)).count();
            logit -= count as f64 * f64::from(settings.frequency_penalty);
            logit -= f64::from(u8::from(count > 0)) * f64::from(settings.presence_penalty);
            logit
        };
        (0..LOGITS.len()).map(logit).collect()
    }

    fn settings() -> Sampling {
        Sampling {
            repeat_penalty: 1.5,
            repeat_last_n: 3,
            frequency_penalty: 0.5,
            presence_penalty: -0.75,
            logit_bias: vec![(1, 4.0), (2, -2.5), (3, 100.0), (77, 1.0)],
            ..Sampling::default()
        }
    }

    /// The logits after the prompt and each of the tokens of a text.
    #[track_caller]
    fn assert_logits(settings: &Sampling) {
        let text = [5, 2, 2, 0, 4, 2, 1];
        let mut penalties = Penalties::default();
        // A prompt may come in parts.
        penalties.add_prompt(&PROMPT[..2], settings);
        penalties.add_prompt(&PROMPT[2..], settings);
        for length in 0..=text.len() {
            let mut candidates: Vec<Candidate> = (0u32..)
                .zip(LOGITS)
                .filter(|(_, logit)| logit.is_finite())
                .map(|(token, logit)| Candidate::new(token, logit))
                .collect();
            penalties.apply(settings, &mut candidates);
            let expected = expected(settings, &PROMPT, &text[..length]);
            assert_eq!(candidates.len(), 5);
            for candidate in candidates {
                let exact = expected[candidate.token as usize];
                let distance = (f64::from(candidate.logit) - exact).abs();
                assert!(distance < 1e-6, "{candidate:?} for {exact} after {length}");
            }
            if let Some(&token) = text.get(length) {
                penalties.add_generated(token, settings);
            }
        }
    }

    #[test]
    fn logits_are_those_of_the_definitions() {
        assert_logits(&settings());
        for repeat_last_n in [0, 1, 6, usize::MAX] {
            assert_logits(&Sampling {
                repeat_last_n,
                ..settings()
            });
        }
        assert_logits(&Sampling {
            repeat_penalty: 1.0,
            logit_bias: Vec::new(),
            ..settings()
        });
        assert_logits(&Sampling {
            frequency_penalty: 0.0,
            ..settings()
        });
        assert_logits(&Sampling::default());
    }

    /// Whatever the temperature, the best token is the best one of the definitions.
    #[test]
    fn greedy_choices_obey_penalties() {
        let settings = settings();
        for top_k in [0, 1] {
            let mut sampler = Sampler::new(Sampling {
                temperature: top_k as f32,
                top_k,
                ..settings.clone()
            })
            .unwrap();
            assert!(!sampler.is_greedy());
            sampler.add_prompt(&PROMPT);
            let mut text = Vec::new();
            for _ in 0..12 {
                let logits = expected(&settings, &PROMPT, &text);
                let best = (0..logits.len())
                    .filter(|&token| logits[token].is_finite())
                    .max_by(|&a, &b| logits[a].total_cmp(&logits[b]).then(b.cmp(&a)));
                let token = sampler.sample(&LOGITS).unwrap();
                assert_eq!(Some(token as usize), best, "{text:?}");
                text.push(token);
            }
            let kinds: std::collections::BTreeSet<_> = text.into_iter().collect();
            assert!(kinds.len() > 2, "{kinds:?}");
        }
    }

    #[test]
    fn logits_stay_finite() {
        let mut sampler = Sampler::new(Sampling {
            temperature: 1.0,
            repeat_penalty: f32::from_bits(1),
            ..Sampling::default()
        })
        .unwrap();
        sampler.add_prompt(&[1, 2]);
        for _ in 0..20 {
            assert_eq!(sampler.sample(&[0.0, -1.0, f32::MAX]).unwrap(), 2);
        }
    }
}
