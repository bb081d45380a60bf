//! Embeddings equal the pooled states of the float64 forward pass.

use crate::reference::Reference;
use crate::support::{relative_l2, session, small, tokens, write_model};
use metal_bridge_llama::gguf::Gguf;
use metal_bridge_llama::{Error, Model, Pooling};

#[test]
fn embeddings_are_the_pooled_states_of_a_text() {
    let file = write_model(&small(), 7);
    let model = Model::load(&crate::support::device(), &file.path).unwrap();
    let reference = Reference::new(Gguf::open(&file.path).unwrap());
    // In passes of 8 tokens, which fill the last or do not, and after another text.
    let mut session = session(&model, 8);
    for count in [1, 8, 21] {
        let tokens = tokens(count, 320);
        let states = reference.states(&tokens);
        let unit = |vector: Vec<f64>| {
            let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
            vector.into_iter().map(|x| x / length).collect::<Vec<_>>()
        };
        let mean =
            (0..states[0].len()).map(|column| states.iter().map(|state| state[column]).sum());
        let mean = unit(mean.collect());
        let last = unit(states[count - 1].clone());
        for (pooling, expected) in [
            (None, &mean),
            (Some(Pooling::Mean), &mean),
            (Some(Pooling::Last), &last),
        ] {
            let found = session.embed(&tokens, pooling).unwrap();
            let distance = relative_l2(&found, expected);
            assert!(distance < 1e-5, "{distance} for {pooling:?} of {count}");
            assert_eq!(session.position(), count);
        }
        assert!(matches!(session.logits(), Err(Error::NoTokens)));
        session.truncate(0);
        session.feed(&tokens).unwrap();
        assert!(session.logits().is_ok());
    }
    assert!(matches!(session.embed(&[], None), Err(Error::NoTokens)));
    let long = tokens(65, 320);
    assert!(matches!(
        session.embed(&long, None),
        Err(Error::ContextExceeded { position: 0, .. })
    ));
}
