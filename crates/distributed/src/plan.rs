//! [`Plan`]: an operation on buffers before a command buffer has it, and how it gets there.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use metal_bridge::{CommandBuffer, Loan};

use crate::communicator::Communicator;
use crate::elements::Elements;
use crate::engine::Command;
use crate::error::Result;
use crate::exchange::Exchange;
use crate::header::Header;
use crate::operation::{Operation, Region};
use crate::progress::{Events, Progress, READY};

/// What an operation does with a buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Reads,
    Writes,
}

/// An operation before it is encoded.
pub(crate) struct Plan<'p, 'b> {
    pub(crate) function: &'static str,
    pub(crate) header: Header,
    pub(crate) whole: (&'p Elements<'b>, Use),
    pub(crate) own: Option<(&'p Elements<'b>, Use)>,
    pub(crate) parts: usize,
}

impl Communicator {
    /// Encodes the operation, and has the MPI thread begin it when the GPU has come to it.
    pub(crate) fn encode(
        &self,
        commands: &mut CommandBuffer,
        plan: Plan<'_, '_>,
    ) -> Result<Exchange> {
        let Plan {
            function,
            header,
            whole: (whole, used),
            own,
            parts,
        } = plan;
        whole.bytes(function)?;
        let spans = (0..parts).map(|part| whole.part(part, parts).bytes(function));
        let spans = spans.collect::<Result<Vec<_>>>()?;
        let own_bytes = own.map(|(own, _)| own.bytes(function)).transpose()?;
        let whole_loan = lend(commands, whole, used)?;
        let own_loan = own
            .map(|(own, used)| lend(commands, own, used))
            .transpose()?;
        let own_region = own_loan.clone().zip(own_bytes).map(region);

        let device = commands.device();
        let (ready, ended) = (device.new_shared_event()?, device.new_shared_event()?);
        let events = Events { ready, ended };
        let ids = self.ids(parts);
        let (told, numbers) = (self.commands(), ids.clone());
        events.ready.notify(READY, move |_| {
            // If the MPI thread has ended, so have the operations.
            let _ = told.send(Command::Ready(numbers));
        })?;
        commands.encode_signal_event(&events.ready, READY)?;
        // Nothing fails from here on.
        let is_pairwise = header.kind.is_pairwise();
        let first = match is_pairwise {
            true => 0,
            false => self.group.next_ordinals(parts),
        };
        let loans: Vec<Arc<Loan>> = [whole_loan.clone()].into_iter().chain(own_loan).collect();
        let name = Header {
            data_type: Some(whole.data_type),
            count: whole.len(),
            ordinal: first,
            ..header.clone()
        };
        let progress = Progress::new(name.to_string(), parts, Some(events), &loans);
        let progress = Arc::new(progress);
        for (part, (id, span)) in ids.clone().zip(spans).enumerate() {
            self.start(Operation {
                id,
                group: self.group.clone(),
                header: Header {
                    ordinal: first + part as u64,
                    data_type: Some(whole.data_type),
                    count: span.len() / whole.data_type.size(),
                    ..header.clone()
                },
                whole: Some(region((whole_loan.clone(), span))),
                own: own_region.clone(),
                split: None,
                timeout: self.current_timeout(),
                progress: progress.clone(),
                part,
                is_ready: false,
            });
        }
        let watch = Watch {
            ids,
            commands: Some(self.commands()),
        };
        commands.add_completed_handler(move |_| watch.disarm());
        Ok(Exchange::new(progress))
    }
}

/// Tells the MPI thread if the command buffer is dropped.
struct Watch {
    ids: Range<u64>,
    commands: Option<Sender<Command>>,
}

impl Watch {
    /// The command buffer has run.
    fn disarm(mut self) {
        self.commands = None;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(commands) = &self.commands {
            // If the MPI thread has ended, so have the operations.
            let _ = commands.send(Command::Dropped(self.ids.clone()));
        }
    }
}

fn lend(commands: &mut CommandBuffer, elements: &Elements<'_>, used: Use) -> Result<Arc<Loan>> {
    let loan = match used {
        Use::Reads => commands.lend_to_read(elements.buffer),
        Use::Writes => commands.lend_to_write(elements.buffer),
    };
    Ok(Arc::new(loan?))
}

fn region((loan, bytes): (Arc<Loan>, Range<usize>)) -> Region {
    Region {
        loan,
        offset: bytes.start,
        length: bytes.len(),
    }
}
