//! Memory with nothing behind it: reading or writing beyond its end is not a wrong number but the end of the process.
#![allow(unsafe_code, reason = "pages that cannot be touched are the system's")]

/// Values at the very end of their memory.
#[cfg(all(unix, not(miri)))]
pub struct Fenced {
    /// The first of all pages.
    pages: *mut u8,
    /// The values end here, and the page that cannot be touched begins.
    fence: usize,
    page: usize,
    len: usize,
}

#[cfg(all(unix, not(miri)))]
impl Fenced {
    /// `len` zeros.
    pub fn new(len: usize) -> Self {
        // SAFETY: a question.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap();
        let fence = (len * size_of::<f32>()).next_multiple_of(page);
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new pages at a place that the system chooses.
        let pages = unsafe { libc::mmap(std::ptr::null_mut(), fence + page, access, kind, -1, 0) };
        assert_ne!(pages, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
        // SAFETY: the last of these pages, which nothing points to yet.
        let fenced = unsafe { libc::mprotect(pages.byte_add(fence), page, libc::PROT_NONE) };
        assert_eq!(fenced, 0, "{}", std::io::Error::last_os_error());
        Self { pages: pages.cast(), fence, page, len }
    }

    fn start(&self) -> *mut f32 {
        // SAFETY: so many values fit before the fence, which is as aligned as a page.
        unsafe { self.pages.add(self.fence - self.len * size_of::<f32>()).cast() }
    }

    pub fn values(&self) -> &[f32] {
        // SAFETY: they can be read, are zero or were written, and live as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start(), self.len) }
    }

    pub fn values_mut(&mut self) -> &mut [f32] {
        // SAFETY: they can be written and are borrowed from `self`, which owns them.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.len) }
    }
}

#[cfg(all(unix, not(miri)))]
impl Drop for Fenced {
    fn drop(&mut self) {
        // SAFETY: all pages that `new` got, and nothing borrows them any more.
        let result = unsafe { libc::munmap(self.pages.cast(), self.fence + self.page) };
        assert_eq!(result, 0);
    }
}

/// Miri knows where an allocation ends.
#[cfg(not(all(unix, not(miri))))]
pub struct Fenced(Box<[f32]>);

#[cfg(not(all(unix, not(miri))))]
impl Fenced {
    pub fn new(len: usize) -> Self {
        Self(vec![0.0; len].into())
    }

    pub fn values(&self) -> &[f32] {
        &self.0
    }

    pub fn values_mut(&mut self) -> &mut [f32] {
        &mut self.0
    }
}
