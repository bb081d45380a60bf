//! Models through llama.cpp's CPU backend and through this project's engine on the software Metal.
//!
//! Usage: metal-bridge-foreign-llama compare|speed [PART-OF-A-NAME...]
//!        metal-bridge-foreign-llama record            writes crates/llama/tests/data/searched.gguf

mod llama_cpp;
mod logits;
mod quantizers;
mod speed;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().unwrap_or_default();
    let only: Vec<String> = arguments.collect();
    let failures = match &*command {
        "compare" => logits::compare(&only) + quantizers::compare(&only),
        "speed" => speed::measure(&only),
        "record" => quantizers::record(),
        _ => {
            eprintln!("usage: metal-bridge-foreign-llama compare|speed|record [PART-OF-A-NAME...]");
            return ExitCode::from(2);
        }
    };
    match failures {
        0 => ExitCode::SUCCESS,
        failures => {
            println!("{failures} differ");
            ExitCode::FAILURE
        }
    }
}
