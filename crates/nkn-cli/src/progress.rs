//! What a training shows while it runs: a bar on a terminal, plain lines elsewhere, JSON lines for machines.

use crate::Global;
use indicatif::{ProgressBar, ProgressStyle};
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

/// A bar on a terminal; elsewhere a line from time to time.
struct Display {
    bar: Option<ProgressBar>,
    /// When the last line was said.
    spoken: Option<Instant>,
}

impl Display {
    fn new(template: &str) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(1).with_style(style)
        });
        Self { bar, spoken: Some(Instant::now()) }
    }

    /// Moves the bar, which is removed at its end, or says the line if it is time for one.
    fn show(&mut self, done: u64, count: u64, line: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_length(count);
            bar.set_position(done);
            if done == count {
                bar.finish_and_clear();
            }
        } else if self.spoken.is_none_or(|spoken| spoken.elapsed() >= INTERVAL) {
            eprintln!("{}", line());
            self.spoken = Some(Instant::now());
        }
    }
}

/// Shows how the generation of samples goes on.
pub fn generating() -> impl Fn(usize, usize) + Sync {
    let display = Mutex::new(Display::new("samples {bar:30} {pos}/{len}  {eta} left"));
    move |done, count| {
        let mut display = display.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        display.show(done as u64, count as u64, || format!("generated {done} of {count} samples"));
    }
}

/// Shows how the files of a set of images are fetched and checked; Ctrl-C stops it.
pub fn preparing(name: &str) -> impl FnMut(Preparation) -> ControlFlow<()> {
    let name = name.to_string();
    let mut display = Display::new("{msg} {bar:30} {bytes}/{total_bytes}");
    let mut last = None;
    move |Preparation { step, done, total }| {
        let doing = match step {
            Step::Fetch => "fetching",
            Step::Check => "checking",
            Step::Unpack => "unpacking",
        };
        if last.replace(step) != Some(step) {
            display.bar.iter().for_each(|bar| bar.set_message(format!("{name} {doing}")));
            display.spoken = None;
        }
        display.show(done, total, || format!("{name}: {doing}, {} %", 100 * done / total.max(1)));
        if should_stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Shows the events of a training.
pub struct Progress {
    json: bool,
    display: Display,
    depth: usize,
    epochs: usize,
    /// Steps done when the clock began, and when that was.
    begun: Option<(usize, Instant)>,
    /// Loss and test error of the last epoch.
    message: String,
}

impl Progress {
    /// For this terminal.
    pub fn new(global: &Global) -> Self {
        let display = Display::new("L = {prefix:<3} {bar:30} {pos}/{len} steps  {msg}  {eta} left");
        Self { json: global.json, display, depth: 0, epochs: 0, begun: None, message: String::new() }
    }

    /// Takes an event.
    pub fn show(&mut self, event: &Event) {
        match event {
            Event::Finished { result, .. } if self.json => {
                println!("{}", serde_json::to_string(result).unwrap_or_default());
            }
            _ if self.json => {}
            Event::Depth { depth, epochs, work } => {
                (self.depth, self.epochs, self.begun) = (*depth, *epochs, None);
                self.message.clear();
                self.say(format!("L = {depth}: {:.2} GFLOP a step, about {:.0} MB", work.gflop, work.bytes / 1e6));
                if let Some(bar) = &self.display.bar {
                    bar.reset();
                    bar.set_prefix(depth.to_string());
                }
            }
            Event::Step { state, steps } => self.step(state.epoch, state.step, *steps),
            Event::Epoch { loss, validation, test, .. } => {
                let named = |name: &str, error: &Option<f64>| {
                    error.map_or(String::new(), |error| format!("  {name} error {error:.2e}"))
                };
                let (validation, test) = (named("validation", validation), named("test", test));
                self.message = format!("loss {loss:.3e}{validation}{test}");
                self.display.bar.iter().for_each(|bar| bar.set_message(self.message.clone()));
            }
            Event::Finished { result, .. } => {
                let (epochs, seconds) = (result.epochs, result.seconds);
                self.say(format!("L = {}: {epochs} epochs, {seconds:.0} s in all", result.depth));
                if result.constrained > 0 {
                    let steps = result.constrained;
                    self.say(format!("  certified: kernel and reaction were scaled after {steps} steps"));
                }
                for m in result.measures.iter().filter(|m| m.metric != "relative_l2_squared") {
                    let value = match m.metric.as_str() {
                        "error_rate" => format!("{:.2} % wrong", 100.0 * m.value),
                        _ => format!("relative L2 error {:.3e}", m.value),
                    };
                    self.say(format!("  {} at {}: {value}", m.split, m.resolution));
                }
            }
            Event::Records(_) | Event::Checkpoint(_) => {}
        }
    }

    fn say(&self, line: String) {
        match &self.display.bar {
            Some(bar) => bar.println(line),
            None => eprintln!("{line}"),
        }
    }

    fn step(&mut self, epoch: usize, step: usize, steps: usize) {
        let (done, all) = (epoch * steps + step, self.epochs * steps);
        let (first, begun) = *self.begun.get_or_insert((done, Instant::now()));
        let (depth, epochs, message) = (self.depth, self.epochs, &self.message);
        self.display.show(done as u64, all as u64, || {
            let left = begun.elapsed().as_secs_f64() / (done - first).max(1) as f64 * (all - done) as f64;
            let step = if steps > 1 { format!("  step {step}/{steps}") } else { String::new() };
            format!("L = {depth}  epoch {epoch}/{epochs}{step}  {message}  {left:.0} s left")
        });
    }

    /// Prints a line to the standard output, past the bar.
    pub fn print(&self, line: &str) {
        match &self.display.bar {
            Some(bar) => bar.suspend(|| println!("{line}")),
            None => println!("{line}"),
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.display.bar.iter().for_each(ProgressBar::finish_and_clear);
    }
}
