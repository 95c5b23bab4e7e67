//! Runs the core without the interpreter's lock, and lets Ctrl-C through.

use crate::error::{from_panic, to_python};
use crate::function::{Block, Function};
use fewer::engine::{Interrupted, Observer, Progress, SelectionProgress};
use fewer::linalg::Matrix;
use fewer::{Error, Result};
use pyo3::prelude::*;
use rayon::ThreadPool;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How often the interpreter is asked whether Ctrl-C was pressed.
const POLL: Duration = Duration::from_millis(10);

/// What a running fit asks of the thread that called it.
pub enum Message {
    Progress(Progress),
    Selection(SelectionProgress),
    Call(Call),
    Done,
}

/// A call of a user's function.
pub struct Call {
    pub function: Function,
    pub x: Block,
    /// Those of a kernel.
    pub centres: Option<Block>,
    pub reply: Sender<Result<Matrix>>,
}

/// Passes progress to the calling thread, and its wish to stop to the engine.
struct Watch<'a> {
    stop: &'a AtomicBool,
    progress: Option<Sender<Message>>,
}

impl Observer for Watch<'_> {
    fn progress(&self, progress: Progress) {
        if let Some(caller) = &self.progress {
            let _ = caller.send(Message::Progress(progress));
        }
    }

    fn selection(&self, progress: SelectionProgress) {
        if let Some(caller) = &self.progress {
            let _ = caller.send(Message::Selection(progress));
        }
    }

    fn check(&self) -> std::result::Result<(), Interrupted> {
        if self.stop.load(Ordering::Relaxed) { Err(Interrupted) } else { Ok(()) }
    }
}

/// Runs `work` on a thread of its own. The calling thread, the only one on which Python handles
/// signals, meanwhile looks for them, reports progress and calls the user's functions.
pub fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    function: Option<&Function>,
    work: impl FnOnce(&dyn Observer) -> Result<T> + Send,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    let (caller, requests) = channel();
    let watch = Watch { stop: &stop, progress: progress.is_some().then(|| caller.clone()) };
    if let Some(function) = function {
        function.set_caller(Some(caller.clone()));
    }
    let mut raised: Option<PyErr> = None;
    let (raised_here, stop) = (&mut raised, &stop);
    let ended = py.detach(move || {
        std::thread::scope(move |scope| {
            let worker = std::thread::Builder::new()
                .name("fewer".into())
                .stack_size(8 << 20)
                .spawn_scoped(scope, move || {
                    let ended = catch_unwind(AssertUnwindSafe(|| in_pool(|| work(&watch))));
                    let _ = caller.send(Message::Done);
                    ended
                })?;
            let mut polled = Instant::now();
            loop {
                let message = requests.recv_timeout(POLL.saturating_sub(polled.elapsed()));
                let handled = match message {
                    Ok(Message::Done) | Err(RecvTimeoutError::Disconnected) => break,
                    Ok(Message::Progress(p)) if raised_here.is_none() => Python::attach(|py| {
                        let report = (p.iteration, p.terms, p.objective, p.residual);
                        progress.as_ref().map_or(Ok(()), |f| f.call1(py, report).map(|_| ()))
                    }),
                    Ok(Message::Selection(s)) if raised_here.is_none() => Python::attach(|py| {
                        let report = (s.done, s.all, s.best, s.seconds_left);
                        let Some(f) = &progress else { return Ok(()) };
                        f.call_method1(py, "selection", report).map(|_| ())
                    }),
                    Ok(Message::Progress(_) | Message::Selection(_))
                    | Err(RecvTimeoutError::Timeout) => Ok(()),
                    Ok(Message::Call(call)) => {
                        let values =
                            Python::attach(|py| call.function.call(py, call.x, call.centres));
                        let _ = call.reply.send(values);
                        Ok(())
                    }
                };
                let handled = handled.and_then(|()| {
                    if polled.elapsed() < POLL {
                        return Ok(());
                    }
                    polled = Instant::now();
                    Python::attach(|py| py.check_signals())
                });
                if let Err(error) = handled {
                    raised_here.get_or_insert(error);
                    stop.store(true, Ordering::Relaxed);
                }
            }
            Ok::<_, std::io::Error>(worker.join())
        })
    });
    if let Some(function) = function {
        function.set_caller(None);
    }
    let ended = ended?.and_then(|ended| ended).map_err(|panic| from_panic(&*panic))?;
    let raised = raised.or_else(|| function.and_then(Function::take_raised));
    match (raised, ended) {
        (Some(raised), _) => Err(raised),
        (None, Ok(value)) => Ok(value),
        (None, Err(error)) => Err(to_python(error)),
    }
}

/// Runs short work on the calling thread, without the interpreter's lock.
pub fn detached<T: Send>(
    py: Python<'_>,
    function: Option<&Function>,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let ended = py.detach(|| catch_unwind(AssertUnwindSafe(|| in_pool(work))));
    let ended = ended.map_err(|panic| from_panic(&*panic))?;
    match (function.and_then(Function::take_raised), ended) {
        (Some(raised), _) => Err(raised),
        (None, ended) => ended.map_err(to_python),
    }
}

/// The process that loaded the module; its threads do not exist in a fork of it.
static HOME: OnceLock<u32> = OnceLock::new();
static FORKED: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Remembers the process.
pub fn settle() {
    HOME.get_or_init(std::process::id);
}

/// In a fork, work must not wait for the threads of the parent's pool: it has a pool of its own.
fn in_pool<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let process = std::process::id();
    if *HOME.get_or_init(|| process) == process {
        return work();
    }
    let pool = {
        let mut forked = FORKED.lock().unwrap_or_else(PoisonError::into_inner);
        match &*forked {
            Some((owner, pool)) if *owner == process => pool.clone(),
            _ => {
                let pool = rayon::ThreadPoolBuilder::new().build().map_err(|e| {
                    Error::setting("n_jobs", "None", format!("no threads can be started: {e}"))
                })?;
                let pool = Arc::new(pool);
                // A pool of the parent's has no threads here that could end.
                std::mem::forget(forked.replace((process, pool.clone())));
                pool
            }
        }
    };
    pool.install(work)
}
