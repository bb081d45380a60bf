//! [`Newsroom`]: what ranks tell each other outside of operations: that they leave, or that something has failed.

use super::steps::NEWS;
use crate::error::Result;
use crate::library::{Library, Request};

/// Bytes of a message: what it is, the rank at fault, the length of the reason, the reason.
const LENGTH: usize = 512;
const REASON: usize = 8;

pub(super) enum News {
    Left,
    Failed { rank: usize, reason: String },
}

pub(super) struct Newsroom {
    received: Vec<u8>,
    /// `None` after it could not be begun again.
    receive: Option<Request>,
    /// What is still on its way, and its memory.
    sent: Vec<(Request, Vec<u8>)>,
    has_left: Vec<bool>,
    /// Ranks that have said that they leave, or that something has failed.
    knows: Vec<bool>,
    has_told: bool,
    size: usize,
    own: usize,
}

impl Newsroom {
    pub(super) fn open(library: &Library) -> Result<Newsroom> {
        let size = library.size();
        let mut news = Newsroom {
            received: vec![0; LENGTH],
            receive: None,
            sent: Vec::new(),
            has_left: vec![false; size],
            knows: vec![false; size],
            has_told: false,
            size,
            own: library.rank(),
        };
        news.knows[news.own] = true;
        news.listen(library)?;
        Ok(news)
    }

    fn listen(&mut self, library: &Library) -> Result<()> {
        let memory = self.received.as_mut_ptr();
        // SAFETY: the memory is not touched until the request has ended, and lives as long as it.
        let receive = unsafe { library.receive(memory, LENGTH, None, NEWS) };
        self.receive = receive.map(Some)?;
        Ok(())
    }

    /// The next message, if there is one.
    pub(super) fn hear(&mut self, library: &Library) -> Result<Option<News>> {
        self.sent
            .retain_mut(|(request, _)| !matches!(library.test(request), Ok(Some(_))));
        let Some(receive) = &mut self.receive else {
            return Ok(None);
        };
        let tested = library.test(receive);
        if matches!(tested, Ok(None)) {
            return Ok(None);
        }
        self.receive = None;
        let from = tested?.map_or(self.own, |(from, _)| from);
        let news = self.read(from);
        self.listen(library)?;
        Ok(Some(news))
    }

    fn read(&mut self, from: usize) -> News {
        self.knows[from] = true;
        let bytes = &self.received;
        if bytes[0] == 0 {
            self.has_left[from] = true;
            return News::Left;
        }
        let number = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let rank = usize::from(number(2)).min(self.size - 1);
        let end = (REASON + usize::from(number(4))).min(LENGTH);
        let reason = String::from_utf8_lossy(&bytes[REASON..end]).into_owned();
        News::Failed { rank, reason }
    }

    /// Says once to all ranks that something has failed because of `rank`.
    pub(super) fn tell_failure(&mut self, library: &Library, rank: usize, reason: &str) {
        let reason = &reason.as_bytes()[..reason.len().min(LENGTH - REASON)];
        let mut bytes = vec![0; LENGTH];
        bytes[0] = 1;
        bytes[2..4].copy_from_slice(&u16::try_from(rank).unwrap_or(u16::MAX).to_le_bytes());
        bytes[4..6].copy_from_slice(&(reason.len() as u16).to_le_bytes());
        bytes[REASON..REASON + reason.len()].copy_from_slice(reason);
        self.tell(library, &bytes);
    }

    /// Says once to all ranks that this one leaves. Whether it was not said before.
    pub(super) fn tell_leave(&mut self, library: &Library) -> bool {
        let is_first = !self.has_told;
        self.tell(library, &[0; LENGTH]);
        is_first
    }

    fn tell(&mut self, library: &Library, bytes: &[u8]) {
        if std::mem::replace(&mut self.has_told, true) {
            return;
        }
        for rank in (0..self.size).filter(|rank| *rank != self.own) {
            let memory = bytes.to_vec();
            // SAFETY: the memory is kept, untouched, until the request has ended.
            let request = unsafe { library.send(memory.as_ptr(), memory.len(), rank, NEWS) };
            // A rank that cannot be told finds out by a timeout.
            self.sent
                .extend(request.ok().map(|request| (request, memory)));
        }
    }

    pub(super) fn has_left(&self) -> &[bool] {
        &self.has_left
    }

    /// Whether all ranks have said that they leave or have failed, and this one, too.
    pub(super) fn all_know(&self) -> bool {
        self.has_told && self.sent.is_empty() && self.knows.iter().all(|knows| *knows)
    }

    /// Ends what is on its way; whether that went well.
    pub(super) fn close(&mut self, library: &Library) -> bool {
        if let Some(receive) = &mut self.receive {
            library.cancel(receive);
            if !matches!(library.test(receive), Ok(Some(_))) {
                return false;
            }
            self.receive = None;
        }
        self.sent.is_empty()
    }
}
