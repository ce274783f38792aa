//! Files that become shorter while they are mapped.
//!
//! The kernel answers a read behind the end of a mapped file with SIGBUS, which ends the process. The handler here gives
//! such a read zeros instead and notes it. Whoever computed with the bytes asks afterwards and refuses the result.

#[cfg(unix)]
pub(super) use handler::Guard;

/// Notices reads behind the end of one mapped file.
#[cfg(not(unix))]
#[derive(Debug)]
pub(super) struct Guard;

#[cfg(not(unix))]
impl Guard {
    pub(super) fn new(_: &[u8]) -> Self {
        Guard
    }

    pub(super) fn is_truncated(&self) -> bool {
        false
    }
}

#[cfg(unix)]
mod handler {
    use std::ffi::{c_int, c_void};
    use std::mem::{transmute, zeroed};
    use std::ptr;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

    /// Mapped files that are guarded at the same time. A read behind the end of one beyond them ends the process as ever.
    const MOST: usize = 64;

    static SLOTS: [Slot; MOST] = [const { Slot::free() }; MOST];
    static PAGE: AtomicUsize = AtomicUsize::new(4096);
    /// What was done about SIGBUS before.
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    /// The addresses of a mapped file; 0: free.
    struct Slot {
        start: AtomicUsize,
        end: AtomicUsize,
        is_truncated: AtomicBool,
    }

    impl Slot {
        const fn free() -> Slot {
            Slot { start: AtomicUsize::new(0), end: AtomicUsize::new(0), is_truncated: AtomicBool::new(false) }
        }
    }

    /// Notices reads behind the end of one mapped file.
    #[derive(Debug)]
    pub(in super::super) struct Guard {
        slot: Option<usize>,
    }

    impl Guard {
        /// Must be dropped before the bytes are unmapped.
        pub(in super::super) fn new(bytes: &[u8]) -> Self {
            install();
            let (start, end) = (bytes.as_ptr().addr(), bytes.as_ptr().addr() + bytes.len());
            let take = |slot: &Slot| slot.start.compare_exchange(0, start, AcqRel, Relaxed).is_ok();
            let slot = if bytes.is_empty() { None } else { SLOTS.iter().position(take) };
            if let Some(slot) = slot {
                SLOTS[slot].is_truncated.store(false, Relaxed);
                SLOTS[slot].end.store(end, Release);
            }
            Self { slot }
        }

        /// Whether something was read that is not in the file any more.
        pub(in super::super) fn is_truncated(&self) -> bool {
            self.slot.is_some_and(|slot| SLOTS[slot].is_truncated.load(Acquire))
        }
    }

    impl Drop for Guard {
        fn drop(&mut self) {
            if let Some(slot) = self.slot {
                SLOTS[slot].end.store(0, Release);
                SLOTS[slot].start.store(0, Release);
            }
        }
    }

    /// Installs the handler, once.
    fn install() {
        static INSTALLED: std::sync::Once = std::sync::Once::new();
        INSTALLED.call_once(|| {
            // SAFETY: asks for a number.
            let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
            PAGE.store(usize::try_from(page).unwrap_or(4096).max(1), Relaxed);
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_bus_error;
            // SAFETY: a `sigaction` of zeros is valid, and both pointers are to such structures.
            let (mut new, mut before): (libc::sigaction, libc::sigaction) = unsafe { (zeroed(), zeroed()) };
            new.sa_sigaction = handler as usize;
            new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            // SAFETY: as above; the handler only calls what may be called in a signal handler.
            if unsafe { libc::sigaction(libc::SIGBUS, &raw const new, &raw mut before) } == 0 {
                let _ = BEFORE.set(before);
            }
        });
    }

    extern "C" fn on_bus_error(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: the kernel passes a valid structure with the address of the read.
        let address = unsafe { (*info).si_addr() }.addr();
        for slot in &SLOTS {
            let (start, end) = (slot.start.load(Acquire), slot.end.load(Acquire));
            if (start..end).contains(&address) && replace_with_zeros(address, end) {
                slot.is_truncated.store(true, Release);
                return;
            }
        }
        pass_on(signal, info, context);
    }

    /// Puts pages of zeros in the place of all from this address on.
    fn replace_with_zeros(address: usize, end: usize) -> bool {
        let page = PAGE.load(Relaxed);
        let start = address / page * page;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let place = ptr::with_exposed_provenance_mut(start);
        // SAFETY: these addresses belong to a mapping of ours, which is only read, and whose owner outlives its guard.
        let made = unsafe { libc::mmap(place, end.next_multiple_of(page) - start, libc::PROT_READ, flags, -1, 0) };
        made != libc::MAP_FAILED
    }

    /// It was not about one of our files: what was installed before is done.
    fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        let before = BEFORE.get();
        match before.map_or(libc::SIG_DFL, |before| before.sa_sigaction) {
            libc::SIG_DFL | libc::SIG_IGN => {
                // SAFETY: the read happens again behind the handler, and then ends the process.
                unsafe { libc::signal(signal, libc::SIG_DFL) };
            }
            handler if before.is_some_and(|before| before.sa_flags & libc::SA_SIGINFO != 0) => {
                // SAFETY: a handler that was installed with `SA_SIGINFO` has these arguments.
                let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = unsafe { transmute(handler) };
                handler(signal, info, context);
            }
            handler => {
                // SAFETY: a handler that was installed without it has this one.
                let handler: extern "C" fn(c_int) = unsafe { transmute(handler) };
                handler(signal);
            }
        }
    }
}
