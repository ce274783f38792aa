//! oneDNN: its matrix product as a primitive, with weights as they lie and in the layout that it chooses.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use super::library::{Library, Places};
use crate::contest::Contender;
use crate::product::Product;

/// How to get it.
pub const HOW: &str = "pip install onednn-cpu-gomp (version 3)";

/// Handles are opaque.
type Handle = *mut c_void;

const CPU: c_int = 1;
const IN_ORDER: c_uint = 1;
const F32: c_int = 3;
const ANY_LAYOUT: c_int = 1;
const QUERY_WEIGHTS: c_int = 131;
const SOURCE: c_int = 1;
const DESTINATION: c_int = 17;
const WEIGHTS: c_int = 33;
/// The memory is allocated by the library.
const ALLOCATE: Handle = usize::MAX as Handle;

/// One argument of a primitive.
#[repr(C)]
struct Argument {
    which: c_int,
    memory: Handle,
}

/// The functions that are needed, of version 3.
struct Functions {
    engine: unsafe extern "C" fn(*mut Handle, c_int, usize) -> c_int,
    stream: unsafe extern "C" fn(*mut Handle, Handle, c_uint) -> c_int,
    with_strides: unsafe extern "C" fn(*mut Handle, c_int, *const i64, c_int, *const i64) -> c_int,
    with_tag: unsafe extern "C" fn(*mut Handle, c_int, *const i64, c_int, c_int) -> c_int,
    matmul: unsafe extern "C" fn(*mut Handle, Handle, Handle, Handle, *const c_void, Handle, *const c_void) -> c_int,
    reorder: unsafe extern "C" fn(*mut Handle, Handle, Handle, Handle, Handle, *const c_void) -> c_int,
    query: unsafe extern "C" fn(Handle, c_int, c_int) -> Handle,
    primitive: unsafe extern "C" fn(*mut Handle, Handle) -> c_int,
    memory: unsafe extern "C" fn(*mut Handle, Handle, Handle, Handle) -> c_int,
    move_memory: unsafe extern "C" fn(Handle, Handle) -> c_int,
    execute: unsafe extern "C" fn(Handle, Handle, c_int, *const Argument) -> c_int,
    wait: unsafe extern "C" fn(Handle) -> c_int,
    set_threads: unsafe extern "C" fn(c_int),
}

impl Functions {
    fn of(library: Library) -> Option<Self> {
        // SAFETY: the types they have in version 3; the last is OpenMP's.
        unsafe {
            Some(Self {
                engine: library.function("dnnl_engine_create")?,
                stream: library.function("dnnl_stream_create")?,
                with_strides: library.function("dnnl_memory_desc_create_with_strides")?,
                with_tag: library.function("dnnl_memory_desc_create_with_tag")?,
                matmul: library.function("dnnl_matmul_primitive_desc_create")?,
                reorder: library.function("dnnl_reorder_primitive_desc_create")?,
                query: library.function("dnnl_primitive_desc_query_md")?,
                primitive: library.function("dnnl_primitive_create")?,
                memory: library.function("dnnl_memory_create")?,
                move_memory: library.function("dnnl_memory_set_data_handle")?,
                execute: library.function("dnnl_primitive_execute")?,
                wait: library.function("dnnl_stream_wait")?,
                set_threads: library.function("omp_set_num_threads")?,
            })
        }
    }
}

/// The library with its engine for this CPU. What is made with it lives until the process ends.
#[derive(Clone)]
pub struct OneDnn {
    /// What was found.
    pub version: String,
    functions: Arc<Functions>,
    engine: Handle,
    stream: Handle,
}

/// Its version as a C struct.
#[repr(C)]
struct Version {
    major: c_int,
    minor: c_int,
    patch: c_int,
}

impl OneDnn {
    /// Version 3; in version 2 the functions have other arguments.
    pub fn load(places: &Places) -> Option<Self> {
        let library = places.load(&["libdnnl.so.3"])?;
        // SAFETY: the type it has; the library owns the struct, which begins with the three numbers.
        let version = unsafe {
            let version: unsafe extern "C" fn() -> *const Version = library.function("dnnl_version")?;
            &*version()
        };
        let version = format!("{}.{}.{}", version.major, version.minor, version.patch);
        let functions = Functions::of(library)?;
        // SAFETY: the first CPU is always there.
        let engine = made(|engine| unsafe { (functions.engine)(engine, CPU, 0) })?;
        // SAFETY: the engine was just made.
        let stream = made(|stream| unsafe { (functions.stream)(stream, engine, IN_ORDER) })?;
        Some(Self { version, functions: Arc::new(functions), engine, stream })
    }

    /// From the next primitive on.
    pub fn set_threads(&self, threads: usize) {
        // SAFETY: changes a setting of OpenMP.
        unsafe { (self.functions.set_threads)(threads as c_int) };
    }

    /// The product with weights as they lie, and with weights packed.
    pub fn gemm<'a>(&'a self, product: Product<'a>) -> Vec<Box<dyn Contender + 'a>> {
        let plain = self.primitive(product, false).map(|primitive| (primitive, "oneDNN"));
        let packed = self.primitive(product, true).map(|primitive| (primitive, "oneDNN packed"));
        let both = plain.into_iter().chain(packed);
        both.map(|(primitive, column)| product.contender(column, move |c| self.run(&primitive, c))).collect()
    }

    fn run(&self, primitive: &Primitive, c: &mut [f32]) {
        let functions = &self.functions;
        // SAFETY: the result has the size that the primitive was made for, and so have the factors, which live as long.
        unsafe {
            (functions.move_memory)(primitive.arguments[2].memory, c.as_mut_ptr().cast());
            (functions.execute)(primitive.handle, self.stream, 3, primitive.arguments.as_ptr());
            (functions.wait)(self.stream);
        }
    }

    fn primitive(&self, product: Product, packed: bool) -> Option<Primitive> {
        let [m, n, k] = product.shape.map(|size| size as i64);
        let strides = if product.b_transposed { [1, k] } else { [n, 1] };
        let plain = self.layout([k, n], strides)?;
        let wanted = if packed { self.any_layout([k, n])? } else { plain };
        let (source, destination) = (self.layout([m, k], [k, 1])?, self.layout([m, n], [n, 1])?);
        let functions = &self.functions;
        // SAFETY: all handles were made by the library; no bias, no attributes.
        let description =
            made(|out| unsafe { (functions.matmul)(out, self.engine, source, wanted, null(), destination, null()) })?;
        // SAFETY: as above.
        let chosen = unsafe { (functions.query)(description, QUERY_WEIGHTS, 0) };
        let from = self.memory(plain, product.b.as_ptr() as Handle)?;
        let weights = if packed { self.packed(plain, chosen, from)? } else { from };
        let arguments = [
            Argument { which: SOURCE, memory: self.memory(source, product.a.as_ptr() as Handle)? },
            Argument { which: WEIGHTS, memory: weights },
            Argument { which: DESTINATION, memory: self.memory(destination, null_mut())? },
        ];
        // SAFETY: as above.
        let handle = made(|out| unsafe { (functions.primitive)(out, description) })?;
        Some(Primitive { handle, arguments })
    }

    /// A copy of `from` in the layout that was chosen.
    fn packed(&self, plain: Handle, chosen: Handle, from: Handle) -> Option<Handle> {
        let to = self.memory(chosen, ALLOCATE)?;
        let functions = &self.functions;
        // SAFETY: all handles were made by the library; the copy is done when the stream is through.
        unsafe {
            let description = made(|out| (functions.reorder)(out, plain, self.engine, chosen, self.engine, null()))?;
            let reorder = made(|out| (functions.primitive)(out, description))?;
            let arguments = [Argument { which: SOURCE, memory: from }, Argument { which: DESTINATION, memory: to }];
            (functions.execute)(reorder, self.stream, 2, arguments.as_ptr());
            (functions.wait)(self.stream);
        }
        Some(to)
    }

    fn layout(&self, sizes: [i64; 2], strides: [i64; 2]) -> Option<Handle> {
        // SAFETY: as many sizes and strides as dimensions.
        made(|out| unsafe { (self.functions.with_strides)(out, 2, sizes.as_ptr(), F32, strides.as_ptr()) })
    }

    fn any_layout(&self, sizes: [i64; 2]) -> Option<Handle> {
        // SAFETY: as many sizes as dimensions.
        made(|out| unsafe { (self.functions.with_tag)(out, 2, sizes.as_ptr(), F32, ANY_LAYOUT) })
    }

    fn memory(&self, layout: Handle, data: Handle) -> Option<Handle> {
        // SAFETY: the data has the size that the layout says, or is given later.
        made(|out| unsafe { (self.functions.memory)(out, layout, self.engine, data) })
    }
}

/// A product that is ready to run.
struct Primitive {
    handle: Handle,
    arguments: [Argument; 3],
}

/// The handle that `make` writes, where it succeeds.
fn made(make: impl FnOnce(*mut Handle) -> c_int) -> Option<Handle> {
    let mut handle = null_mut();
    (make(&mut handle) == 0).then_some(handle)
}
