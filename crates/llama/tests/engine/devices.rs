//! A model on several devices: the same logits as on one, typed errors, and nothing that stays.

use crate::support::{assert_live, session, settled, shipped_path, small, tokens, write_model};
use metal_bridge::command_buffer_error::PAGE_FAULT;
use metal_bridge::{Device, Error as MetalError};
use metal_bridge_llama::{Error, Model, Session};
use metal_bridge_test_support::{failures, in_child_with};
use metal_bridge_workloads::synthetic::SyntheticModel;

/// Three discrete devices.
fn with_devices(test: &str, are_peers: bool, body: impl Fn(&[Device])) {
    let settings = [
        ("SOFTWARE_METAL_DEVICES", "3"),
        ("SOFTWARE_METAL_UNIFIED", "0"),
        ("SOFTWARE_METAL_PEERS", if are_peers { "1" } else { "0" }),
    ];
    in_child_with(&format!("devices::{test}"), &settings, || {
        body(&Device::all().unwrap());
    });
}

fn five_layers() -> SyntheticModel {
    SyntheticModel {
        layers: 5,
        ..small()
    }
}

/// The logits after a prompt of several batches, after single tokens, and after a part of the text was forgotten; and those
/// of all rows of a prompt.
fn logits(session: &mut Session) -> Vec<Vec<f32>> {
    let tokens = tokens(30, 320);
    let mut logits = vec![session.feed_with_logits(&tokens[..13]).unwrap()];
    session.truncate(9);
    for text in [
        &tokens[9..20],
        &tokens[20..21],
        &tokens[21..22],
        &tokens[22..],
    ] {
        session.feed(text).unwrap();
        logits.push(session.logits().unwrap());
    }
    logits
}

fn logits_are_those_of_one_device(devices: &[Device]) {
    let file = write_model(&five_layers(), 11);
    let expected = logits(&mut session(
        &Model::load(&devices[0], &file.path).unwrap(),
        8,
    ));
    let live = settled();
    for order in [&[0, 1][..], &[0, 1, 2], &[2, 0], &[1, 1], &[0, 1, 0, 2, 1]] {
        let chosen: Vec<Device> = order.iter().map(|&index| devices[index].clone()).collect();
        let model = Model::load(&chosen, &file.path).unwrap();
        assert!(model.devices().eq(&chosen));
        assert!(logits(&mut session(&model, 8)) == expected, "{order:?}");
        drop((chosen, model));
        assert_live(&live);
    }
}

#[test]
fn peers_compute_what_one_device_does() {
    with_devices(
        "peers_compute_what_one_device_does",
        true,
        logits_are_those_of_one_device,
    );
}

#[test]
fn strangers_compute_what_one_device_does() {
    with_devices(
        "strangers_compute_what_one_device_does",
        false,
        logits_are_those_of_one_device,
    );
}

#[test]
fn tied_embeddings_are_on_both_ends() {
    with_devices("tied_embeddings_are_on_both_ends", true, |devices| {
        let feed = |model: Model| {
            let mut session = session(&model, 8);
            session.feed(&[1, 306, 9]).unwrap();
            session.logits().unwrap()
        };
        let expected = feed(Model::load(&devices[0], shipped_path()).unwrap());
        assert!(feed(Model::load(devices, shipped_path()).unwrap()) == expected);
    });
}

#[test]
fn a_failing_device_leaves_the_session_as_it_was() {
    with_devices(
        "a_failing_device_leaves_the_session_as_it_was",
        false,
        |devices| {
            let file = write_model(&five_layers(), 5);
            let model = Model::load(devices, &file.path).unwrap();
            let tokens = tokens(20, 320);
            let mut undisturbed = session(&model, 8);
            undisturbed.feed(&tokens).unwrap();
            let mut disturbed = session(&model, 8);
            disturbed.feed(&tokens[..10]).unwrap();
            let mut failed = 0;
            for nth in 1.. {
                failures::fail_command_buffer(nth, PAGE_FAULT);
                match disturbed.feed(&tokens[10..]) {
                    Ok(()) => break,
                    Err(Error::Metal(MetalError::CommandBuffer(failure))) => {
                        assert_eq!(failure.code(), PAGE_FAULT);
                    }
                    Err(other) => panic!("{other}"),
                }
                assert_eq!(disturbed.position(), 10);
                assert!(matches!(disturbed.logits(), Err(Error::NoTokens)));
                failed += 1;
            }
            // Two batches: three passes each, and two copies, which are more than one command buffer.
            assert!(failed >= 2 * (3 + 2), "only {failed} command buffers");
            assert!(disturbed.logits().unwrap() == undisturbed.logits().unwrap());
        },
    );
}

#[test]
fn every_allocation_of_several_devices_may_fail() {
    with_devices(
        "every_allocation_of_several_devices_may_fail",
        false,
        |devices| {
            let file = write_model(&small(), 6);
            let attempt = || -> Result<Vec<f32>, Error> {
                let model = Model::load(&devices[..2], &file.path)?;
                let mut session = Session::new(&model)?;
                session.feed(&[1, 2, 3])?;
                session.logits()
            };
            let expected = attempt().unwrap();
            let live = settled();
            for nth in 1.. {
                failures::fail_allocation(nth);
                match attempt() {
                    Err(Error::Metal(MetalError::OutOfMemory(_))) => {}
                    Err(other) => panic!("allocation {nth}: {other}"),
                    Ok(logits) => {
                        assert!(logits == expected);
                        assert!(nth > 2 * (2 + 2 + 11), "only {nth} allocations");
                        break;
                    }
                }
                assert_live(&live);
            }
        },
    );
}

#[test]
fn numbers_of_devices_that_cannot_be_are_refused() {
    let file = write_model(&small(), 7);
    let device = Device::system_default().unwrap();
    for count in [0, 3] {
        let error = Model::load(&vec![device.clone(); count], &file.path).unwrap_err();
        let expected = format!("a model of 2 layers takes from 1 to 2 devices, not {count}");
        assert!(error.to_string().contains(&expected), "{error}");
    }
}
