//! What the roofline of a kernel advises: fewer bytes if memory limits it, and fewer operations if arithmetic does.

use super::Advisor;
use crate::analysis::{AccessProfile, Advice, Bound, Gpu, ObjectProfile, Roofline};

impl Advisor<'_> {
    /// About the object that moves most, or the line that computes most. More is not gained than until the other of
    /// memory and arithmetic limits the kernel.
    pub(super) fn about_roofline(&mut self, gpu: &Gpu) {
        let Some(roofline) = self.kernel.roofline() else {
            return;
        };
        let computing = gpu.lines_meanwhile(roofline.operations);
        let limit = |what| {
            format!(
                "estimated of the published peaks of {}, {what} limits the kernel: {:.2} operations a byte, and the \
                 ridge is {:.1}",
                gpu.name,
                roofline.intensity,
                gpu.ridge()
            )
        };
        match roofline.bound(gpu) {
            Bound::Memory => self.about_bytes(&roofline, limit("memory"), computing),
            // With more bytes than were counted, memory may limit it after all.
            Bound::Arithmetic if roofline.complete => {
                self.about_operations(&roofline, limit("arithmetic"), computing);
            }
            Bound::Arithmetic => {}
        }
    }

    fn about_bytes(&mut self, roofline: &Roofline, limit: String, computing: f64) {
        let kernel = self.kernel;
        let objects = kernel.objects.iter();
        let objects = objects.filter(|object| object.is_in_device_memory());
        let Some(object) = objects.max_by_key(|object| ObjectProfile::lines(object)) else {
            return;
        };
        let accesses = kernel.accesses.iter();
        let accesses = accesses.filter(|access| access.object == object.object);
        let Some(most) = accesses.max_by_key(|access| AccessProfile::estimated_cost(access)) else {
            return;
        };
        let lines = object.lines() as f64;
        let figure = format!(
            "{limit}; '{}' is {:.0} % of the bytes",
            object.object.name,
            100.0 * lines / roofline.lines()
        );
        let change = "let its elements take half as many bytes, or compute them where they are used; less arithmetic \
                      gains nothing";
        let saved = (lines / 2.0).min(roofline.lines() - computing);
        self.add(Advice::MoveLess, &most.at, saved, figure, change);
    }

    fn about_operations(&mut self, roofline: &Roofline, limit: String, computing: f64) {
        let lines = self.kernel.operations_by_line();
        let Some(most) = lines
            .iter()
            .max_by_key(|line| line.operations.floating_point())
        else {
            return;
        };
        let share = most.operations.floating_point() as f64 / roofline.operations as f64;
        let figure = format!("{limit}; {:.0} % of the operations are here", 100.0 * share);
        let change = "take out of loops what does not change, or compute it once for several threads; fewer bytes gain \
                      nothing";
        let saved = (share * computing).min(computing - roofline.lines());
        self.add(Advice::ComputeLess, &most.at, saved, figure, change);
    }
}
