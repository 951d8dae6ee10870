//! Where the library computes: on threads of our own, without Python's lock, while the caller listens to Ctrl-C.
//!
//! Rayon's global pool does not survive a fork: the child has the pool and none of its threads, and waits for them forever. So every call runs
//! in a pool that belongs to this process, which is known by its id; a child makes its own. Nothing here waits for a lock, which
//! could have been held by another thread when the process was forked.

use crate::errors::{of_panic, python};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::time::Duration;

/// Between two looks at whether Ctrl-C was pressed.
const GLANCE: Duration = Duration::from_millis(100);

/// A pool of a process. Pools are never freed: another thread may compute in one, and those of a parent cannot be. There is one for each
/// number of threads that was asked for.
struct Own {
    process: u32,
    threads: usize,
    pool: ThreadPool,
    older: *const Own,
}

/// No machine has more cores; starting many more threads than there are takes minutes.
const MOST: i64 = 4096;

/// The newest pool.
static POOLS: AtomicPtr<Own> = AtomicPtr::new(std::ptr::null_mut());

/// How many threads are wanted; 0: as many as there are cores, or as RAYON_NUM_THREADS says.
static THREADS: AtomicUsize = AtomicUsize::new(0);

fn pool() -> PyResult<&'static ThreadPool> {
    let (process, threads) = (std::process::id(), THREADS.load(Ordering::Relaxed));
    let mut older = POOLS.load(Ordering::Acquire);
    // SAFETY: what the list holds is never freed and never changed.
    let mut next = unsafe { older.as_ref() };
    while let Some(own) = next {
        if (own.process, own.threads) == (process, threads) {
            return Ok(&own.pool);
        }
        // SAFETY: as above.
        next = unsafe { own.older.as_ref() };
    }
    let built = ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("nkn-{i}")).build();
    let pool = built.map_err(|error| PyRuntimeError::new_err(format!("could not start threads: {error}")))?;
    let own = Box::leak(Box::new(Own { process, threads, pool, older }));
    while let Err(newest) = POOLS.compare_exchange(older, own, Ordering::AcqRel, Ordering::Acquire) {
        (older, own.older) = (newest, newest);
    }
    Ok(&own.pool)
}

/// How many threads the library computes with.
#[pyfunction]
pub fn num_threads() -> PyResult<usize> {
    Ok(pool()?.current_num_threads())
}

/// Sets how many threads the library computes with from now on; without a number, one for each core.
#[pyfunction]
#[pyo3(signature = (count=None))]
pub fn set_num_threads(count: Option<i64>) -> PyResult<()> {
    let threads = match count {
        None => 0,
        Some(count @ 1..=MOST) => count as usize,
        Some(count) => {
            let expected = format!("1 to {MOST}");
            return Err(PyValueError::new_err(format!(
                "count: expected {expected}, got {count}\n  hint: None takes all cores"
            )));
        }
    };
    THREADS.store(threads, Ordering::Relaxed);
    Ok(())
}

/// Whether the work should end.
#[derive(Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Whether it was asked for.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Computes without Python's lock. Ctrl-C asks `work` to stop; `tell` is called from time to time meanwhile, and its error stops the work too.
pub fn compute<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(Stop) -> nkn::Result<T> + Send,
    mut tell: impl FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<T> {
    let (stop, done) = (Stop::default(), AtomicBool::new(false));
    let asked = stop.clone();
    let caller = std::thread::current();
    let mut result = None;
    let mut interruption = None;
    pool()?.in_place_scope(|scope| {
        scope.spawn(|_| {
            result = Some(catch_unwind(AssertUnwindSafe(|| work(asked))));
            done.store(true, Ordering::Release);
            caller.unpark();
        });
        while !done.load(Ordering::Acquire) {
            py.detach(|| std::thread::park_timeout(GLANCE));
            if interruption.is_none()
                && let Err(error) = py.check_signals().and_then(|()| tell(py))
            {
                stop.0.store(true, Ordering::Relaxed);
                interruption = Some(error);
            }
        }
    });
    match (interruption, result) {
        (Some(error), _) => Err(error),
        (None, Some(Ok(result))) => result.map_err(python),
        (None, Some(Err(panic))) => Err(of_panic(&*panic)),
        (None, None) => Err(PyRuntimeError::new_err("the work was not done")),
    }
}

/// [`compute`] for what is short or has nothing to tell.
pub fn quietly<T: Send>(py: Python<'_>, work: impl FnOnce() -> nkn::Result<T> + Send) -> PyResult<T> {
    compute(py, |_| work(), |_| Ok(()))
}
