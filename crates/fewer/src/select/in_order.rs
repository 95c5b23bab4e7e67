//! Tasks that begin in a fixed order, several at a time.

use crate::error::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Runs tasks `0..count`, at most `at_once` at a time, and gives what each returned; those after
/// an error are not begun.
///
/// The threads of the current pool are shared out among the tasks. A parallel loop in one pool
/// would begin in several places at once, and a thread that waits within one task would take up
/// another: after an interruption hardly any grid point would be complete. The error returned is
/// that of the first task which failed, whatever the number of threads: all before it were begun,
/// and are waited for.
pub(crate) fn in_order<T: Send>(
    count: usize,
    at_once: usize,
    task: impl Fn(usize) -> Result<T> + Sync,
) -> (Vec<Option<T>>, Option<Error>) {
    let results = Mutex::new((0..count).map(|_| None).collect::<Vec<Option<T>>>());
    let failure: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let k = next.fetch_add(1, Ordering::Relaxed);
            if k >= count {
                break;
            }
            match task(k) {
                Ok(value) => {
                    results.lock().unwrap_or_else(PoisonError::into_inner)[k] = Some(value);
                }
                Err(error) => {
                    stop.store(true, Ordering::Relaxed);
                    let mut first = failure.lock().unwrap_or_else(PoisonError::into_inner);
                    if first.as_ref().is_none_or(|f| k < f.0) {
                        *first = Some((k, error));
                    }
                }
            }
        }
    };
    let threads = rayon::current_num_threads();
    let workers = at_once.min(count).min(threads);
    if workers > 1 {
        let pools = (0..workers).map_while(|w| {
            let share = threads / workers + usize::from(w < threads % workers);
            rayon::ThreadPoolBuilder::new().num_threads(share).build().ok()
        });
        let pools: Vec<rayon::ThreadPool> = pools.collect();
        std::thread::scope(|scope| {
            for pool in &pools {
                // Without it, the others do its share.
                let _ = std::thread::Builder::new().spawn_scoped(scope, || pool.install(work));
            }
        });
    }
    // All that is left: everything, where there are no workers.
    work();
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    (results, failure.map(|f| f.1))
}
