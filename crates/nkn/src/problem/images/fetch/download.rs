//! One file from the web.

use crate::{Error, Result};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

/// How long a server may take to be reached: where there is no network, nobody should wait.
const CONNECT: Duration = Duration::from_secs(5);

/// Between two calls of `meanwhile` when nothing comes.
const INTERVAL: Duration = Duration::from_millis(100);

/// Fetches a file and returns its size. `meanwhile` is told the bytes so far; its error ends the download at once, and so
/// does a silence longer than `patience`.
pub(super) fn download(
    url: &str,
    path: &Path,
    patience: Duration,
    meanwhile: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<u64> {
    let failed = |reason: String| {
        let hint = "check the network, or name another mirror with --mirror";
        Error::file(Path::new(url), format!("could not be fetched ({reason})"), hint)
    };
    let mut file = File::create(path).map_err(Error::io(path, "write"))?;
    // On a thread of its own, since a read from the network cannot be interrupted. When this end is given up, the other
    // ends with its next piece, or with the program.
    let (sender, pieces) = mpsc::sync_channel(16);
    let address = url.to_owned();
    std::thread::spawn(move || {
        let end = receive(&address, &sender).map(|()| Vec::new());
        let _ = sender.send(end);
    });
    let (mut bytes, mut heard) = (0, Instant::now());
    loop {
        meanwhile(bytes)?;
        match pieces.recv_timeout(INTERVAL) {
            Ok(Ok(piece)) if piece.is_empty() => return Ok(bytes),
            Ok(Ok(piece)) => {
                file.write_all(&piece).map_err(Error::io(path, "write"))?;
                bytes += piece.len() as u64;
                heard = Instant::now();
            }
            Ok(Err(reason)) => return Err(failed(reason)),
            Err(RecvTimeoutError::Timeout) if heard.elapsed() < patience => {}
            Err(_) => return Err(failed(format!("nothing came for {} seconds", heard.elapsed().as_secs()))),
        }
    }
}

/// Sends what comes, piece by piece.
fn receive(url: &str, pieces: &SyncSender<std::result::Result<Vec<u8>, String>>) -> std::result::Result<(), String> {
    let config = ureq::Agent::config_builder().timeout_resolve(Some(CONNECT)).timeout_connect(Some(CONNECT)).build();
    let mut reply = ureq::Agent::new_with_config(config).get(url).call().map_err(|error| error.to_string())?;
    let announced = reply.body().content_length();
    let mut body = reply.body_mut().as_reader();
    let mut bytes = 0;
    loop {
        let mut piece = vec![0; 1 << 16];
        let length = body.read(&mut piece).map_err(|error| error.to_string())?;
        piece.truncate(length);
        bytes += length as u64;
        if length == 0 {
            return match announced {
                Some(announced) if announced != bytes => Err(format!("{bytes} of {announced} bytes came")),
                _ => Ok(()),
            };
        }
        if pieces.send(Ok(piece)).is_err() {
            return Ok(());
        }
    }
}
