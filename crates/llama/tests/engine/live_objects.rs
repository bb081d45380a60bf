//! What the engine makes and what it leaves behind, by the bridge's counts of live objects. They count for the whole
//! process, so each test has a process of its own.

use crate::support::{assert_live, session, settled, shipped, small, tokens, write_model};
use metal_bridge::{Device, ObjectKind};
use metal_bridge_llama::Model;
use metal_bridge_llama::sampling::{Sampler, Sampling};
use metal_bridge_test_support::in_child;

const PROMPT: &str = "Once upon a time";

#[test]
fn decoding_makes_command_buffers_and_encoders_only() {
    in_child(
        "live_objects::decoding_makes_command_buffers_and_encoders_only",
        || {
            let model = shipped();
            let mut session = session(&model, 64);
            session
                .feed(&model.tokenizer().encode(PROMPT).unwrap())
                .unwrap();
            let mut sampler = Sampler::new(Sampling {
                temperature: 0.8,
                ..Sampling::default()
            })
            .unwrap();
            let mut step = || {
                let token = session.sample(&mut sampler).unwrap();
                session.feed(&[token]).unwrap();
            };
            step();
            let before = settled();
            (0..10).for_each(|_| step());
            let after = Device::live_objects();
            for kind in ObjectKind::ALL {
                let made = after.made(kind) - before.made(kind);
                match kind {
                    ObjectKind::CommandBuffer | ObjectKind::ComputeEncoder => {
                        assert_eq!(made, 10, "{kind:?}")
                    }
                    _ => assert_eq!(made, 0, "{kind:?}"),
                }
            }
            assert_live(&before);
        },
    );
}

#[test]
fn a_dropped_model_leaves_nothing_behind() {
    in_child(
        "live_objects::a_dropped_model_leaves_nothing_behind",
        || {
            let before = settled();
            let file = write_model(&small(), 9);
            let model = Model::load(&crate::support::device(), &file.path).unwrap();
            let mut session = session(&model, 8);
            session.feed(&tokens(30, 320)).unwrap();
            drop(model);
            drop(file);
            // The session keeps the model and its map.
            session.feed(&tokens(4, 320)).unwrap();
            drop(session);
            assert_live(&before);
        },
    );
}
