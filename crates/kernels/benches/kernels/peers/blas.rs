//! OpenBLAS, BLIS and MKL through their C interface.

use std::ffi::{CStr, c_char, c_int};

use kernels::AlignedBuffer;

use super::library::{Library, Places};
use crate::contest::Contender;
use crate::product::Product;

type Sgemm = unsafe extern "C" fn(
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    f32,
    *const f32,
    c_int,
    *const f32,
    c_int,
    f32,
    *mut f32,
    c_int,
);
type Sgemv =
    unsafe extern "C" fn(c_int, c_int, c_int, c_int, f32, *const f32, c_int, *const f32, c_int, f32, *mut f32, c_int);

const ROW_MAJOR: c_int = 101;
const NO_TRANS: c_int = 111;
const TRANS: c_int = 112;
const PACKED: c_int = 151;
const B_MATRIX: c_int = 162;

/// A library with the C interface of BLAS.
pub struct Blas {
    /// What was found.
    pub version: String,
    column: &'static str,
    sgemm: Sgemm,
    sgemv: Sgemv,
    set_threads: SetThreads,
    packing: Option<Packing>,
}

/// The same in all three but for the integer's type.
enum SetThreads {
    Int(unsafe extern "C" fn(c_int)),
    Long(unsafe extern "C" fn(i64)),
}

/// MKL's products with a factor that was packed before.
#[derive(Clone, Copy)]
struct Packing {
    size: unsafe extern "C" fn(c_int, c_int, c_int, c_int) -> usize,
    pack: unsafe extern "C" fn(c_int, c_int, c_int, c_int, c_int, c_int, f32, *const f32, c_int, *mut f32),
    compute: unsafe extern "C" fn(
        c_int,
        c_int,
        c_int,
        c_int,
        c_int,
        c_int,
        *const f32,
        c_int,
        *const f32,
        c_int,
        f32,
        *mut f32,
        c_int,
    ),
}

/// A library that there can be.
pub struct Kind {
    /// Its column.
    pub column: &'static str,
    /// How to get it.
    pub how: &'static str,
    /// Loads it, where it is.
    pub load: fn(&Places) -> Option<Blas>,
}

/// All there are, in the order in which they are loaded.
pub const KINDS: &[Kind] = &[
    Kind {
        column: "OpenBLAS",
        how: "pip install scipy-openblas32, or apt install libopenblas0-pthread",
        load: openblas,
    },
    Kind { column: "BLIS", how: "apt install libblis4-pthread", load: blis },
    Kind { column: "MKL", how: "pip install mkl", load: mkl },
];

/// The wheel is newer than what distributions have; its names begin with `scipy_`.
fn openblas(places: &Places) -> Option<Blas> {
    let (library, prefix) = match places.load(&["libscipy_openblas.so"]) {
        Some(library) => (library, "scipy_"),
        None => (places.load(&["libopenblas.so.0", "libopenblas.so"])?, ""),
    };
    // SAFETY: the type it has in OpenBLAS.
    let config: unsafe extern "C" fn() -> *const c_char =
        unsafe { library.function(&format!("{prefix}openblas_get_config")) }?;
    // SAFETY: gives a text that lives as long as the library.
    let version = unsafe { CStr::from_ptr(config()) }.to_string_lossy().trim().to_owned();
    // SAFETY: the type it has in OpenBLAS.
    let set_threads = SetThreads::Int(unsafe { library.function(&format!("{prefix}openblas_set_num_threads")) }?);
    Blas::with(library, "OpenBLAS", prefix, (version, set_threads))
}

fn blis(places: &Places) -> Option<Blas> {
    let library = places.load(&["libblis.so.4", "libblis-mt.so.4", "libblis.so"])?;
    // SAFETY: the types they have in BLIS, whose enumerations are ints.
    let (version, id, name) = unsafe {
        let version: unsafe extern "C" fn() -> *const c_char = library.function("bli_info_get_version_str")?;
        let id: unsafe extern "C" fn() -> c_int = library.function("bli_arch_query_id")?;
        let name: unsafe extern "C" fn(c_int) -> *const c_char = library.function("bli_arch_string")?;
        (version, id, name)
    };
    // SAFETY: both give texts that live as long as the library.
    let (version, name) = unsafe { (CStr::from_ptr(version()), CStr::from_ptr(name(id()))) };
    let version = format!("{}, kernels for {}", version.to_string_lossy(), name.to_string_lossy());
    // SAFETY: the type it has in BLIS, whose own integers have 64 bits.
    let set_threads = SetThreads::Long(unsafe { library.function("bli_thread_set_num_threads") }?);
    Blas::with(library, "BLIS", "", (version, set_threads))
}

fn mkl(places: &Places) -> Option<Blas> {
    let library = places.load(&["libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so"])?;
    // SAFETY: the type it has in MKL.
    let describe: unsafe extern "C" fn(*mut c_char, c_int) = unsafe { library.function("MKL_Get_Version_String") }?;
    let mut text = [0u8; 200];
    // SAFETY: the text has that length.
    unsafe { describe(text.as_mut_ptr().cast(), text.len() as c_int) };
    let text = CStr::from_bytes_until_nul(&text).map_or_else(|_| "MKL".into(), CStr::to_string_lossy);
    let version = text.split(" for ").next().unwrap_or_default().trim().to_owned();
    // SAFETY: the type it has in MKL.
    let set_threads = SetThreads::Int(unsafe { library.function("MKL_Set_Num_Threads") }?);
    let mut blas = Blas::with(library, "MKL", "", (version, set_threads))?;
    blas.packing = Packing::of(library);
    Some(blas)
}

impl Packing {
    fn of(library: Library) -> Option<Self> {
        // SAFETY: the types they have in MKL.
        unsafe {
            Some(Self {
                size: library.function("cblas_sgemm_pack_get_size")?,
                pack: library.function("cblas_sgemm_pack")?,
                compute: library.function("cblas_sgemm_compute")?,
            })
        }
    }

    /// The right factor as `compute` wants it, aligned to a cache line.
    fn of_right(self, product: &Product) -> AlignedBuffer<f32> {
        let [m, n, k] = product.ints();
        let (trans, stride) = right(product);
        // SAFETY: asks for a size and writes no more than that; the factor has k × n elements.
        unsafe {
            let bytes = (self.size)(B_MATRIX, m, n, k);
            let mut packed = AlignedBuffer::zeroed(bytes.div_ceil(size_of::<f32>()));
            let (from, to) = (product.b.as_ptr(), packed.as_mut_ptr());
            (self.pack)(ROW_MAJOR, B_MATRIX, trans, m, n, k, 1.0, from, stride, to);
            packed
        }
    }
}

/// How the right factor lies: transposed or not, and its row's length.
fn right(product: &Product) -> (c_int, c_int) {
    let [_, n, k] = product.ints();
    if product.b_transposed { (TRANS, k) } else { (NO_TRANS, n) }
}

impl Blas {
    fn with(
        library: Library,
        column: &'static str,
        prefix: &str,
        (version, set_threads): (String, SetThreads),
    ) -> Option<Self> {
        // SAFETY: the types they have in C, with integers of 32 bits.
        let (sgemm, sgemv) = unsafe {
            (library.function(&format!("{prefix}cblas_sgemm"))?, library.function(&format!("{prefix}cblas_sgemv"))?)
        };
        Some(Self { version, column, sgemm, sgemv, set_threads, packing: None })
    }

    /// From the next call on.
    pub fn set_threads(&self, threads: usize) {
        match self.set_threads {
            // SAFETY: changes a setting of the library, which computes nothing meanwhile.
            SetThreads::Int(set) => unsafe { set(threads as c_int) },
            // SAFETY: as above.
            SetThreads::Long(set) => unsafe { set(threads as i64) },
        }
    }

    /// Matrix by matrix.
    pub fn gemm<'a>(&'a self, product: Product<'a>) -> Vec<Box<dyn Contender + 'a>> {
        let [m, n, k] = product.ints();
        let (trans, stride) = right(&product);
        let (a, b) = (product.a.as_ptr(), product.b.as_ptr());
        let mut all = vec![product.contender(self.column, move |c| {
            // SAFETY: the factors and the result have as many elements as the sizes say.
            unsafe {
                (self.sgemm)(ROW_MAJOR, NO_TRANS, trans, m, n, k, 1.0, a, k, b, stride, 0.0, c.as_mut_ptr(), n);
            }
        })];
        if let Some(packing) = self.packing {
            let packed = packing.of_right(&product);
            all.push(product.contender("MKL packed", move |c| {
                let (b, c) = (packed.as_ptr(), c.as_mut_ptr());
                // SAFETY: as above; the right factor was packed for these sizes.
                unsafe { (packing.compute)(ROW_MAJOR, NO_TRANS, PACKED, m, n, k, a, k, b, n, 0.0, c, n) };
            }));
        }
        all
    }

    /// Vector by matrix.
    pub fn gemv<'a>(&'a self, product: Product<'a>) -> Box<dyn Contender + 'a> {
        let [_, n, k] = product.ints();
        // The matrix as it lies: rows × columns.
        let (rows, cols, trans) = if product.b_transposed { (n, k, NO_TRANS) } else { (k, n, TRANS) };
        let (x, w) = (product.a.as_ptr(), product.b.as_ptr());
        product.contender(self.column, move |y| {
            // SAFETY: matrix and vectors have as many elements as the sizes say.
            unsafe { (self.sgemv)(ROW_MAJOR, trans, rows, cols, 1.0, w, cols, x, 1, 0.0, y.as_mut_ptr(), 1) };
        })
    }
}
