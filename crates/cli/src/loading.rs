//! Loads a model, with a progress bar if it takes long and somebody watches.

use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use metal_bridge::Device;
use metal_bridge_llama::{Model, Result};

/// Loads that are over before this show no bar.
const PATIENCE: Duration = Duration::from_millis(300);

/// Loads the model at `path`. The bar goes to standard error, if that is a terminal.
pub fn load(devices: &[Device], path: &Path) -> Result<Model> {
    let start = Instant::now();
    let mut bar: Option<ProgressBar> = None;
    let model = Model::load_with_progress(devices, path, |done, total| {
        if bar.is_none() && start.elapsed() > PATIENCE {
            bar = Some(progress_bar(total));
        }
        if let Some(bar) = &bar {
            bar.set_position(done);
        }
    });
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    model
}

fn progress_bar(total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "loading {bar:40} {binary_bytes}/{binary_total_bytes} ({eta})",
    );
    let bar = ProgressBar::new(total);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
