//! Connections that wait for their clients: where there are too many, the one that has waited longest makes room.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Those that wait, the longest wait first.
#[derive(Default)]
pub struct Clients {
    waits: Mutex<Waits>,
}

#[derive(Default)]
struct Waits {
    begun: u64,
    clients: BTreeMap<u64, Arc<Notify>>,
}

impl Clients {
    fn waits(&self) -> MutexGuard<'_, Waits> {
        // Each change of the map is one call.
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the connection whose client has let it wait longest, if there is one.
    pub fn dismiss_one(&self) {
        if let Some((_, dismissed)) = self.waits().clients.pop_first() {
            dismissed.notify_one();
        }
    }
}

/// One connection, from when it waits for a request.
pub struct Client {
    clients: Arc<Clients>,
    dismissed: Arc<Notify>,
    wait: Mutex<Option<u64>>,
    /// Whether an answer is complete, and perhaps not sent.
    is_answered: AtomicBool,
}

impl Client {
    pub fn new(clients: Arc<Clients>) -> Self {
        let client = Self {
            clients,
            dismissed: Arc::default(),
            wait: Mutex::default(),
            is_answered: AtomicBool::new(false),
        };
        client.wait();
        client
    }

    /// From now on the connection waits for its client.
    pub fn wait(&self) {
        let mut waits = self.clients.waits();
        waits.begun += 1;
        let wait = waits.begun;
        waits.clients.insert(wait, Arc::clone(&self.dismissed));
        drop(waits);
        self.replace(Some(wait));
    }

    /// From now on the client waits.
    pub fn serve(&self) {
        self.is_answered.store(false, Ordering::Relaxed);
        self.replace(None);
    }

    /// There is nothing more to send than what is on its way.
    pub fn answered(&self) {
        self.is_answered.store(true, Ordering::Relaxed);
    }

    /// All that was on its way has been sent.
    pub fn sent(&self) {
        if self.is_answered.swap(false, Ordering::Relaxed) {
            self.wait();
        }
    }

    fn current(&self) -> MutexGuard<'_, Option<u64>> {
        self.wait.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace(&self, wait: Option<u64>) {
        let ended = std::mem::replace(&mut *self.current(), wait);
        if let Some(ended) = ended {
            self.clients.waits().clients.remove(&ended);
        }
    }

    /// Ends when the connection has to.
    pub async fn dismissed(&self) {
        loop {
            self.dismissed.notified().await;
            // A request may have come in the meantime.
            if self.current().is_some() {
                return;
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.serve();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::answers::Served;
    use super::{Client, Clients};

    #[test]
    fn a_connection_waits_again_once_its_answer_is_sent() {
        let clients = Arc::new(Clients::default());
        let client = Arc::new(Client::new(Arc::clone(&clients)));
        let waiting = || clients.waits().clients.len();
        assert_eq!(waiting(), 1);
        let served = Served::new(Arc::clone(&client));
        // A part of the answer.
        client.sent();
        assert_eq!(waiting(), 0);
        drop(served.with(()));
        assert_eq!(waiting(), 0, "the rest is on its way");
        client.sent();
        assert_eq!(waiting(), 1);
        drop(client);
        assert_eq!(waiting(), 0);
    }
}
