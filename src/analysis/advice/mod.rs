//! [`optimization_recommendations`]: what to change in kernels that ran, the largest estimated gain first.

mod bound;
#[cfg(test)]
mod tests;

use super::{
    AccessPattern, AccessProfile, Advice, CoreLimits, Gpu, KernelProfile, Limit, Profile,
    Recommendation, SIMD_WIDTH, SourceLine, Space,
};

/// Smaller gains are not worth a change.
const LEAST_GAIN: f64 = 0.01;
/// Each byte may be read so often before it is worth keeping it in threadgroup memory.
const MUCH_REUSE: f64 = 4.0;

/// What to change in kernels that ran, the largest estimated gain first. Gains are shares of a cost that is estimated
/// from the profile and the peaks of `gpu` alone: one for each line of 128 bytes that a SIMD-group touches, and one for
/// each turn of threadgroup memory, or as many lines as `gpu` moves while the kernel computes, if those are more. No
/// cache helps: a kernel whose lines stay in a cache gains less. `core` is for occupancy.
///
/// ```
/// use metal_bridge::analysis::{CoreLimits, Gpu, Profile, optimization_recommendations};
///
/// let profile = Profile::from_json(r#"{"version": 1, "kernels": []}"#)?;
/// let m1 = Gpu::named("M1").unwrap();
/// assert!(optimization_recommendations(&profile, &CoreLimits::apple7(m1.cores), &m1).is_empty());
/// # Ok::<(), metal_bridge::Error>(())
/// ```
pub fn optimization_recommendations(
    profile: &Profile,
    core: &CoreLimits,
    gpu: &Gpu,
) -> Vec<Recommendation> {
    let costs = profile.kernels.iter().map(|kernel| Cost::of(kernel, gpu));
    let total: f64 = costs.map(|cost| cost.all()).sum();
    let mut all = Vec::new();
    for kernel in &profile.kernels {
        let mut advisor = Advisor {
            kernel,
            cost: Cost::of(kernel, gpu),
            total,
            found: &mut all,
        };
        for access in &kernel.accesses_by_line() {
            advisor.about_access(access);
        }
        advisor.about_reuse();
        advisor.about_barriers();
        advisor.about_threadgroups(core);
        advisor.about_roofline(gpu);
    }
    all.retain(|one| one.gain >= LEAST_GAIN);
    all.sort_by(|a, b| b.gain.total_cmp(&a.gain));
    all
}

/// What a kernel costs, in lines of 128 bytes.
struct Cost {
    memory: f64,
    arithmetic: f64,
}

impl Cost {
    fn of(kernel: &KernelProfile, gpu: &Gpu) -> Cost {
        Cost {
            memory: kernel.estimated_cost() as f64,
            arithmetic: gpu.lines_meanwhile(kernel.all_operations().floating_point()),
        }
    }

    /// Memory and arithmetic are busy at the same time.
    fn all(&self) -> f64 {
        self.memory.max(self.arithmetic)
    }
}

struct Advisor<'a> {
    kernel: &'a KernelProfile,
    cost: Cost,
    total: f64,
    found: &'a mut Vec<Recommendation>,
}

impl Advisor<'_> {
    /// A change that saves lines or turns, until arithmetic limits the kernel.
    fn add_memory(
        &mut self,
        advice: Advice,
        at: &SourceLine,
        saved: f64,
        figure: String,
        change: &str,
    ) {
        let most = (self.cost.memory - self.cost.arithmetic).max(0.0);
        self.add(advice, at, saved.min(most), figure, change);
    }

    fn add(&mut self, advice: Advice, at: &SourceLine, saved: f64, figure: String, change: &str) {
        self.found.push(Recommendation {
            advice,
            kernel: self.kernel.name.clone(),
            at: at.clone(),
            gain: if self.total > 0.0 {
                saved / self.total
            } else {
                0.0
            },
            figure,
            change: change.to_owned(),
        });
    }

    fn about_access(&mut self, access: &AccessProfile) {
        let name = &access.object.name;
        let cost = access.estimated_cost() as f64;
        if access.atomic {
            let saved = access.lanes.saturating_sub(access.executions) as f64;
            if access.broadcast == access.executions {
                let figure = format!(
                    "{} atomic accesses by {} SIMD-groups to one address each",
                    access.lanes, access.executions
                );
                let change = "combine the values of a SIMD-group first, with simd_sum or simd_max, and let one lane store";
                self.add_memory(Advice::CombineAtomics, &access.at, saved, figure, change);
            }
        } else if access.object.space == Space::Threadgroup {
            let saved = (access.turns - access.least_turns) as f64;
            let figure = format!(
                "{} turns of threadgroup memory for '{name}', {} without conflicts",
                access.turns, access.least_turns
            );
            let change = "add a pad of one element to each row, or let neighbouring lanes access neighbouring words";
            self.add_memory(
                Advice::AvoidBankConflicts,
                &access.at,
                saved,
                figure,
                change,
            );
        } else {
            let (aligned, saved) = (
                access.misaligned as f64,
                cost - access.least_lines_of_128 as f64,
            );
            if access.misaligned > 0 {
                let figure = format!(
                    "{} of {} executions touch one line of '{name}' more than they have to",
                    access.misaligned, access.executions
                );
                let change = "begin rows and offsets at multiples of 128 bytes";
                self.add_memory(Advice::Align, &access.at, aligned, figure, change);
            }
            self.about_lines(access, saved - aligned);
        }
        let idle = (access.all_lanes - access.lanes) as f64 / access.all_lanes.max(1) as f64;
        if idle > 0.0 && access.broadcast < access.executions {
            let figure = format!("{} of {} lanes take part", access.lanes, access.all_lanes);
            let change = "let whole SIMD-groups take a branch or a loop: arrange the threads by what they do";
            self.add(Advice::Converge, &access.at, idle * cost, figure, change);
        }
    }

    fn about_lines(&mut self, access: &AccessProfile, saved: f64) {
        let name = &access.object.name;
        let pattern = match access.pattern() {
            Some((AccessPattern::Strided { stride }, _)) => format!("threads {stride} bytes apart"),
            Some((AccessPattern::Gathered, _)) => "threads in no order".to_owned(),
            _ => return,
        };
        let mut objects = self.kernel.objects.iter();
        let object = objects.find(|object| object.object == access.object);
        let unread = object.is_some_and(|object| object.unread() * 8 > object.lines_read * 128);
        let figure = format!(
            "{pattern} touch {} lines of '{name}' for {} bytes, {} lines side by side",
            access.lines_of_128, access.bytes, access.least_lines_of_128
        );
        // If nearly every byte of the lines is read by somebody, another order is enough; else the data has to move.
        let change = match (access.writes, unread) {
            (false, true) => {
                "put what the threads read together: nobody reads the other bytes of these lines"
            }
            _ => {
                "let thread i access element i, or let each thread access a vector of neighbouring elements"
            }
        };
        self.add_memory(Advice::Coalesce, &access.at, saved, figure, change);
    }

    /// Of each object, at the line that reads most of it.
    fn about_reuse(&mut self) {
        for object in &self.kernel.objects {
            let Some(reuse) = object.reuse() else {
                continue;
            };
            if object.object.space != Space::Buffer || reuse < MUCH_REUSE {
                continue;
            }
            let reads = self.kernel.accesses.iter();
            let reads = reads.filter(|access| {
                access.object == object.object && !access.writes && !access.atomic
            });
            let lines: u64 = reads.clone().map(AccessProfile::estimated_cost).sum();
            let Some(most) = reads.max_by_key(|access| access.estimated_cost()) else {
                continue;
            };
            let at = most.at.clone();
            let figure = format!(
                "each byte of '{}' that is read is read {reuse:.1} times",
                object.object.name
            );
            let change =
                "load it into threadgroup memory or registers once and use it for several results";
            let saved = lines.saturating_sub(object.lines_read) as f64;
            self.add_memory(Advice::Reuse, &at, saved, figure, change);
        }
    }

    fn about_barriers(&mut self) {
        let full: u64 = self
            .kernel
            .barriers
            .iter()
            .map(|barrier| barrier.full_work)
            .sum();
        for barrier in &self.kernel.barriers {
            let waiting = barrier.full_work - barrier.work;
            let figure = format!(
                "the SIMD-groups execute {} accesses before it, {} if all were as busy as the busiest",
                barrier.work, barrier.full_work
            );
            let change = "spread the work of the busiest SIMD-group over all of them";
            let saved = self.cost.all() * waiting as f64 / full.max(1) as f64;
            self.add(Advice::Balance, &barrier.at, saved, figure, change);
        }
    }

    fn about_threadgroups(&mut self, core: &CoreLimits) {
        let kernel = self.kernel;
        let lanes = kernel.simdgroups * SIMD_WIDTH as u64;
        let empty = lanes.saturating_sub(kernel.threads);
        let share = empty as f64 / lanes.max(1) as f64;
        let figure = format!("{empty} of {lanes} lanes have no thread");
        let change = "make threadgroups multiples of 32 threads";
        self.add(
            Advice::FillSimdgroups,
            &SourceLine::default(),
            share * self.cost.all(),
            figure,
            change,
        );
        let memory = kernel.threadgroup_memory;
        let Some(occupancy) = kernel.occupancy(core) else {
            return;
        };
        if occupancy.limit == Limit::ThreadgroupMemory && occupancy.share < 0.5 {
            let figure = format!(
                "{memory} bytes of threadgroup memory let a core hold {} threads, {:.0} % of what it can",
                occupancy.threads,
                100.0 * occupancy.share
            );
            let change = "use less threadgroup memory for each thread";
            // Twice the threads hide twice the latency: at most half of the time.
            let saved = (0.5 - occupancy.share) * self.cost.all();
            self.add(
                Advice::Occupy,
                &SourceLine::default(),
                saved,
                figure,
                change,
            );
        }
    }
}
