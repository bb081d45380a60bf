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
use super::answers::{Served, Stream};
use super::bodies::until;
use super::clients::{Client, Clients};
use super::routes;

/// Connections at a time. For one more the server ends the one whose client has let it wait longest for a request.
const MAX_CONNECTIONS: usize = 256;
/// The most bytes of a request's headers.
const MAX_HEADERS: usize = 64 << 10;
/// How long the headers of a request may take, and how long a connection may have none.
const HEADER_TIME: Duration = Duration::from_secs(10);
/// How long a client may read nothing of what is sent to it.
const STALL_TIME: Duration = Duration::from_secs(30);
/// How long the system may refuse connections, and how long no connection may end, before the next attempt.
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
    let clients = Arc::new(Clients::default());
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let permit = room(&permits, &clients).await;
                let client = Arc::new(Client::new(Arc::clone(&clients)));
                let (state, watcher) = (Arc::clone(&state), connections.watcher());
                tokio::spawn(connection(stream, state, watcher, client, permit));
            }
            // A client that has gone already, or too many open files.
            Err(_) => sleep(PAUSE).await,
        }
    }
}

/// Waits until there are fewer connections than the most. Who sends nothing, or slowly, gives way to the next.
async fn room(permits: &Arc<Semaphore>, clients: &Clients) -> OwnedSemaphorePermit {
    loop {
        if let Ok(permit) = Arc::clone(permits).try_acquire_owned() {
            return permit;
        }
        clients.dismiss_one();
        // The semaphore is never closed.
        if let Ok(Ok(permit)) = timeout(PAUSE, Arc::clone(permits).acquire_owned()).await {
            return permit;
        }
    }
}

async fn connection(
    stream: TcpStream,
    state: Arc<State>,
    watcher: Watcher,
    client: Arc<Client>,
    _permit: OwnedSemaphorePermit,
) {
    // Tokens are small and should come at once; without it they come later.
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(STALL_TIME));
    let stream = Stream {
        stream: TokioIo::new(Box::pin(stream)),
        client: Arc::clone(&client),
    };
    let service = service_fn(|mut request| {
        let (state, client) = (Arc::clone(&state), Arc::clone(&client));
        async {
            let served = Served::new(Arc::clone(&client));
            // For its body, which the connection may have to wait for.
            request.extensions_mut().insert(client);
            let response = routes::respond(state, request).await;
            Ok::<_, Infallible>(response.map(|body| served.with(body)))
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_buf_size(MAX_HEADERS)
        .serve_connection(stream, service);
    // A client that does not speak HTTP, or has gone, concerns nobody else.
    until(watcher.watch(connection), client.dismissed()).await;
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
