//! What a training shows while it runs: a bar on a terminal, plain lines elsewhere, JSON lines for machines.

use crate::Global;
use indicatif::{ProgressBar, ProgressStyle};
use nkn::classify::Happening;
use nkn::problem::images::{Progress as Preparation, Step};
use nkn::train::Event;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Set by Ctrl-C.
static STOP: AtomicBool = AtomicBool::new(false);

/// Makes the first Ctrl-C ask for a checkpoint; the second ends the program at once.
pub fn stop_on_ctrl_c() -> anyhow::Result<()> {
    ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        eprintln!("stopping after this step, with a checkpoint (Ctrl-C again: at once)");
    })?;
    Ok(())
}

/// Whether Ctrl-C was pressed.
pub fn should_stop() -> bool {
    STOP.load(Ordering::SeqCst)
}

/// Between two plain lines.
const INTERVAL: Duration = Duration::from_secs(5);

/// Shows how the generation of samples goes on.
pub fn generating() -> impl Fn(usize, usize) + Sync {
    let bar = std::io::stderr().is_terminal().then(|| {
        let bar = ProgressBar::new(1);
        let style = ProgressStyle::with_template("samples {bar:30} {pos}/{len}  {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar
    });
    let spoken = Mutex::new(Instant::now());
    move |done, count| match &bar {
        Some(bar) => {
            bar.set_length(count as u64);
            bar.set_position(done as u64);
            if done == count {
                bar.finish_and_clear();
            }
        }
        None => {
            let mut spoken = spoken.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if spoken.elapsed() >= INTERVAL {
                eprintln!("generated {done} of {count} samples");
                *spoken = Instant::now();
            }
        }
    }
}

/// Shows how the files of a set of images are fetched and checked; Ctrl-C stops it.
pub fn preparing(name: &str) -> impl FnMut(Preparation) -> ControlFlow<()> {
    let bar = std::io::stderr().is_terminal().then(|| {
        let bar = ProgressBar::new(1);
        let style = ProgressStyle::with_template("{prefix} {msg} {bar:30} {bytes}/{total_bytes}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix(name.to_string());
        bar
    });
    let name = name.to_string();
    let mut spoken: Option<(Step, Instant)> = None;
    move |progress| {
        let doing = match progress.step {
            Step::Fetch => "fetching",
            Step::Check => "checking",
            Step::Unpack => "unpacking",
        };
        match &bar {
            Some(bar) => {
                bar.set_message(doing);
                bar.set_length(progress.total);
                bar.set_position(progress.done);
                if progress.done == progress.total {
                    bar.finish_and_clear();
                }
            }
            None if spoken.is_none_or(|(step, at)| step != progress.step || at.elapsed() >= INTERVAL) => {
                let percent = 100 * progress.done / progress.total.max(1);
                eprintln!("{name}: {doing}, {percent} %");
                spoken = Some((progress.step, Instant::now()));
            }
            None => {}
        }
        if should_stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Shows the events of a training.
pub struct Progress {
    json: bool,
    bar: Option<ProgressBar>,
    depth: usize,
    epochs: usize,
    begun: Option<(usize, Instant)>,
    spoken: Instant,
}

impl Progress {
    /// For this terminal.
    pub fn new(global: &Global) -> Self {
        let bar = (std::io::stderr().is_terminal() && !global.json).then(|| {
            let style = "L = {prefix:<3} {bar:30} {pos}/{len} epochs  {msg}  {eta} left";
            let bar = ProgressBar::new(1);
            bar.set_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Self { json: global.json, bar, depth: 0, epochs: 0, begun: None, spoken: Instant::now() }
    }

    /// Takes an event.
    pub fn show(&mut self, event: &Event) {
        match event {
            Event::Depth { depth, epochs, work } => {
                (self.depth, self.epochs, self.begun) = (*depth, *epochs, None);
                let line = format!("L = {depth}: {:.2} GFLOP a step, about {:.0} MB", work.gflop, work.bytes / 1e6);
                match &self.bar {
                    Some(bar) => bar.println(line),
                    None if self.json => {}
                    None => eprintln!("{line}"),
                }
                if let Some(bar) = &self.bar {
                    bar.reset();
                    bar.set_length(*epochs as u64);
                    bar.set_prefix(depth.to_string());
                }
            }
            Event::Epoch { state, loss, test } => {
                let test = test.map_or(String::new(), |error| format!("  test error {error:.2e}"));
                let message = format!("loss {loss:.3e}{test}");
                if let Some(bar) = &self.bar {
                    bar.set_position(state.epoch as u64);
                    bar.set_message(message);
                } else if !self.json {
                    let (first, begun) = *self.begun.get_or_insert((state.epoch, Instant::now()));
                    if self.spoken.elapsed() >= INTERVAL && state.epoch > first {
                        let pace = begun.elapsed().as_secs_f64() / (state.epoch - first) as f64;
                        let left = pace * (self.epochs - state.epoch) as f64;
                        eprintln!(
                            "L = {}  epoch {}/{}  {message}  {left:.0} s left",
                            self.depth, state.epoch, self.epochs
                        );
                        self.spoken = Instant::now();
                    }
                }
            }
            Event::Finished { result, .. } => {
                if self.json {
                    println!("{}", serde_json::to_string(result).unwrap_or_default());
                    return;
                }
                let test = result.test.map_or(String::new(), |error| format!(", test {error:.3e}"));
                let line = format!(
                    "L = {}: relative L2 error train {:.3e}{test} after {} epochs, {:.0} s in all",
                    result.depth, result.train, result.epochs, result.seconds
                );
                match &self.bar {
                    Some(bar) => bar.println(line),
                    None => eprintln!("{line}"),
                }
            }
            Event::Records(_) | Event::Checkpoint(_) => {}
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Shows the training of an image classifier.
pub struct ImageProgress {
    json: bool,
    bar: Option<ProgressBar>,
    name: String,
    epochs: usize,
    begun: Option<(usize, Instant)>,
    spoken: Instant,
}

impl ImageProgress {
    /// For this terminal.
    pub fn new(global: &Global, name: &str, epochs: usize) -> Self {
        let bar = (std::io::stderr().is_terminal() && !global.json).then(|| {
            let bar = ProgressBar::new(1);
            let style = "{prefix} {bar:30} {pos}/{len} steps  {msg}  {eta} left";
            bar.set_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_prefix(name.to_string());
            bar
        });
        Self { json: global.json, bar, name: name.into(), epochs, begun: None, spoken: Instant::now() }
    }

    /// Takes an event.
    pub fn show(&mut self, event: &Happening) {
        match event {
            Happening::Step { state, steps } => {
                let done = state.epoch * steps + state.step;
                if let Some(bar) = &self.bar {
                    bar.set_length((self.epochs * steps) as u64);
                    bar.set_position(done as u64);
                    return;
                }
                let (first, begun) = *self.begun.get_or_insert((done, Instant::now()));
                if self.spoken.elapsed() >= INTERVAL && done > first && !self.json {
                    let pace = begun.elapsed().as_secs_f64() / (done - first) as f64;
                    let left = pace * (self.epochs * steps - done) as f64;
                    let (epoch, epochs) = (state.epoch + 1, self.epochs);
                    eprintln!("{}  epoch {epoch}/{epochs}  step {}/{steps}  {left:.0} s left", self.name, state.step);
                    self.spoken = Instant::now();
                }
            }
            Happening::Epoch(record) => {
                let line = format!(
                    "{}  epoch {}: loss {:.4}, {:.2} % of the test images wrong",
                    self.name,
                    record.epoch,
                    record.loss,
                    100.0 * record.error_rate
                );
                match &self.bar {
                    Some(bar) => bar.println(line),
                    None if self.json => println!("{}", serde_json::to_string(record).unwrap_or_default()),
                    None => eprintln!("{line}"),
                }
            }
            Happening::Checkpoint(_) => {}
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
