//! `fill.metal`: one value everywhere.

use crate::buffers::{Arg, size};
use crate::rig::{File, Grid};
use crate::types::Type;

pub fn run(file: &File) {
    for kind in Type::ALL {
        let kernel = format!("fill_{}", kind.name());
        for length in [1, 37, 1000, 2049] {
            let value = kind.nearest(42.625 + length as f64);
            let output = file.output(kind, length);
            let arguments = [
                Arg::Out(&output),
                Arg::Bytes(kind.encode(&[value])),
                size(length),
            ];
            let launched = file.launch(&kernel, &[], &arguments, Grid::Linear(length));
            let case = format!("{length} elements");
            file.check_exact(&kernel, &case, launched, &output, &vec![value; length]);
        }
    }
}
