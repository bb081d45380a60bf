//! The connections: who may connect, how long they may take, and how they end.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;

use super::State;
use super::bodies::until;
use super::routes;

/// Connections at a time; more wait until one ends.
const MAX_CONNECTIONS: usize = 256;
/// The most bytes of a request's headers.
const MAX_HEADERS: usize = 64 << 10;
/// How long the headers of a request may take, and how long a connection may have none.
const HEADER_TIME: Duration = Duration::from_secs(10);
/// How long a client may read nothing of what is sent to it.
const STALL_TIME: Duration = Duration::from_secs(30);
/// How long the system may refuse connections before the next attempt.
const PAUSE: Duration = Duration::from_millis(100);

/// A socket that listens.
pub fn listen(host: &str, port: u16) -> io::Result<(StdListener, SocketAddr)> {
    let listener = StdListener::bind((host, port))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Serves until a signal comes. Answers then have until `grace` is over, or until the next signal.
pub async fn serve(listener: StdListener, state: Arc<State>, grace: Duration) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let mut signals = watch_signals()?;
    let connections = Arc::new(GracefulShutdown::new());
    let accepting = accept(listener, Arc::clone(&state), Arc::clone(&connections));
    let accepting = tokio::spawn(accepting);
    signals.recv().await;
    accepting.abort();
    // It holds the socket until it has ended, by the abort: an error that says so.
    let _ = accepting.await;
    let end = async move {
        // Either ends the wait.
        let _ = timeout(grace, signals.recv()).await;
        state.bodies.stop();
        state.slots.stop();
        // Who does not read the end of an answer is not waited for.
        sleep(STALL_TIME).await;
    };
    if let Some(connections) = Arc::into_inner(connections) {
        until(connections.shutdown(), end).await;
    }
    Ok(())
}

async fn accept(listener: TcpListener, state: Arc<State>, connections: Arc<GracefulShutdown>) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    // The semaphore is never closed.
    while let Ok(permit) = Arc::clone(&permits).acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                let (state, watcher) = (Arc::clone(&state), connections.watcher());
                tokio::spawn(connection(stream, state, watcher, permit));
            }
            // A client that has gone already, or too many open files.
            Err(_) => sleep(PAUSE).await,
        }
    }
}

async fn connection(
    stream: TcpStream,
    state: Arc<State>,
    watcher: Watcher,
    _permit: OwnedSemaphorePermit,
) {
    // Tokens are small and should come at once; without it they come later.
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(STALL_TIME));
    let service = service_fn(|request| {
        let state = Arc::clone(&state);
        async { Ok::<_, Infallible>(routes::respond(state, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_buf_size(MAX_HEADERS)
        .serve_connection(TokioIo::new(Box::pin(stream)), service);
    // A client that does not speak HTTP, or has gone, concerns nobody else.
    let _ = watcher.watch(connection).await;
}

/// Something comes for each signal that asks the program to end.
fn watch_signals() -> io::Result<UnboundedReceiver<()>> {
    let (sender, receiver) = unbounded_channel();
    #[cfg(unix)]
    for kind in [
        tokio::signal::unix::SignalKind::interrupt(),
        tokio::signal::unix::SignalKind::terminate(),
    ] {
        let mut signals = tokio::signal::unix::signal(kind)?;
        let sender = sender.clone();
        tokio::spawn(
            async move { while signals.recv().await.is_some() && sender.send(()).is_ok() {} },
        );
    }
    #[cfg(not(unix))]
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() && sender.send(()).is_ok() {}
    });
    Ok(receiver)
}
