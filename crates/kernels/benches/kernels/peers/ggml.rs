//! ggml, the library of llama.cpp: its matrix product as a graph, with weights repacked where it has a form for that.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

use super::library::{Library, Places};
use crate::contest::{Contender, Lap};

/// How to get it.
pub const HOW: &str = "a build of llama.cpp with shared libraries, its folder in HOTLOOP_PEERS";

/// Handles are opaque.
type Handle = *mut c_void;

/// The number of the type f32.
pub const F32: u32 = 0;

/// Numbers as their bytes.
pub fn bytes_of(numbers: &[f32]) -> &[u8] {
    // SAFETY: every byte of a number is a byte, and they lie in one piece.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

/// What a context is made with.
#[repr(C)]
struct Setup {
    bytes: usize,
    buffer: Handle,
    no_alloc: bool,
}

/// Is told what the library has to say.
type Listener = unsafe extern "C" fn(c_int, *const c_char, Handle);

unsafe extern "C" fn say_nothing(_: c_int, _: *const c_char, _: Handle) {}

/// The functions that are needed.
struct Functions {
    init: unsafe extern "C" fn(Setup) -> Handle,
    free: unsafe extern "C" fn(Handle),
    tensor_overhead: unsafe extern "C" fn() -> usize,
    graph_overhead: unsafe extern "C" fn() -> usize,
    tensor: unsafe extern "C" fn(Handle, c_int, i64, i64) -> Handle,
    mul_mat: unsafe extern "C" fn(Handle, Handle, Handle) -> Handle,
    graph: unsafe extern "C" fn(Handle) -> Handle,
    expand: unsafe extern "C" fn(Handle, Handle),
    allocate: unsafe extern "C" fn(Handle, Handle) -> Handle,
    free_buffer: unsafe extern "C" fn(Handle),
    set: unsafe extern "C" fn(Handle, *const c_void, usize, usize),
    get: unsafe extern "C" fn(Handle, *mut c_void, usize, usize),
    set_threads: unsafe extern "C" fn(Handle, c_int),
    compute: unsafe extern "C" fn(Handle, Handle) -> c_int,
    supports: unsafe extern "C" fn(Handle, Handle) -> bool,
}

impl Functions {
    fn of(library: Library) -> Option<Self> {
        // SAFETY: the types they have in ggml's headers.
        unsafe {
            Some(Self {
                init: library.function("ggml_init")?,
                free: library.function("ggml_free")?,
                tensor_overhead: library.function("ggml_tensor_overhead")?,
                graph_overhead: library.function("ggml_graph_overhead")?,
                tensor: library.function("ggml_new_tensor_2d")?,
                mul_mat: library.function("ggml_mul_mat")?,
                graph: library.function("ggml_new_graph")?,
                expand: library.function("ggml_build_forward_expand")?,
                allocate: library.function("ggml_backend_alloc_ctx_tensors_from_buft")?,
                free_buffer: library.function("ggml_backend_buffer_free")?,
                set: library.function("ggml_backend_tensor_set")?,
                get: library.function("ggml_backend_tensor_get")?,
                set_threads: library.function("ggml_backend_cpu_set_n_threads")?,
                compute: library.function("ggml_backend_graph_compute")?,
                supports: library.function("ggml_backend_dev_supports_op")?,
            })
        }
    }
}

/// The library with its backend for the CPU.
pub struct Ggml {
    /// What was found.
    pub version: String,
    functions: Arc<Functions>,
    backend: Handle,
    device: Handle,
    /// Where weights can lie: repacked for this CPU first, as they are last.
    homes: Vec<Handle>,
}

/// Weights and the vectors they are applied to.
pub struct Weights<'a> {
    /// ggml's number of the format.
    pub kind: u32,
    /// The weights, an output per row.
    pub bytes: &'a [u8],
    /// How many outputs.
    pub outputs: usize,
    /// One or more vectors, one after another.
    pub inputs: &'a [f32],
    /// How many.
    pub vectors: usize,
    /// With how many threads.
    pub threads: usize,
}

impl Ggml {
    /// Loads the backend for the CPU and what it depends on.
    pub fn load(places: &Places) -> Option<Self> {
        let library = places.load(&["libggml-cpu.so", "libggml.so"])?;
        let functions = Functions::of(library)?;
        // SAFETY: the types they have in ggml's headers; the text lives as long as the library.
        unsafe {
            let version: unsafe extern "C" fn() -> *const c_char = library.function("ggml_version")?;
            let log: unsafe extern "C" fn(Listener, Handle) = library.function("ggml_log_set")?;
            log(say_nothing, null_mut());
            let start: unsafe extern "C" fn() -> Handle = library.function("ggml_backend_cpu_init")?;
            let registry: unsafe extern "C" fn() -> Handle = library.function("ggml_backend_cpu_reg")?;
            let device: unsafe extern "C" fn(Handle, usize) -> Handle = library.function("ggml_backend_reg_dev_get")?;
            let version = CStr::from_ptr(version()).to_string_lossy().into_owned();
            let (backend, registry) = (start(), registry());
            let device = device(registry, 0);
            let homes = homes(library, registry, device)?;
            Some(Self { version, functions: Arc::new(functions), backend, device, homes })
        }
    }

    /// The product, in the first home of weights that has a form for them.
    pub fn product(&self, weights: &Weights) -> Option<Box<dyn Contender>> {
        self.homes.iter().find_map(|&home| Graph::new(self, weights, home)).map(|graph| Box::new(graph) as _)
    }
}

/// The buffer types of the CPU: what is extra, then the usual one.
///
/// # Safety
/// The handles are of this library.
unsafe fn homes(library: Library, registry: Handle, device: Handle) -> Option<Vec<Handle>> {
    let mut homes = Vec::new();
    // SAFETY: the types they have in ggml's headers; the list ends with a null.
    unsafe {
        let usual: unsafe extern "C" fn() -> Handle = library.function("ggml_backend_cpu_buffer_type")?;
        let find: unsafe extern "C" fn(Handle, *const c_char) -> Handle =
            library.function("ggml_backend_reg_get_proc_address")?;
        let extras = find(registry, c"ggml_backend_dev_get_extra_bufts".as_ptr());
        if !extras.is_null() {
            let extras: unsafe extern "C" fn(Handle) -> *const Handle = std::mem::transmute(extras);
            let mut next = extras(device);
            while !next.is_null() && !(*next).is_null() {
                homes.push(*next);
                next = next.add(1);
            }
        }
        homes.push(usual());
    }
    Some(homes)
}

/// Operations of a graph at least, so that starting it does not count: short products are in it several times.
const OPERATIONS: usize = 20_000_000;
/// How often at most.
const MOST_NODES: usize = 16;

/// A product as a graph.
struct Graph {
    functions: Arc<Functions>,
    backend: Handle,
    graph: Handle,
    output: Handle,
    outputs: usize,
    nodes: u32,
    threads: usize,
    contexts: [Handle; 2],
    buffers: Vec<Handle>,
}

impl Graph {
    fn new(ggml: &Ggml, weights: &Weights, home: Handle) -> Option<Self> {
        let functions = Arc::clone(&ggml.functions);
        let (n, m, k) = (weights.outputs, weights.vectors, weights.inputs.len() / weights.vectors);
        let nodes = (OPERATIONS / (2 * n * m * k)).clamp(1, MOST_NODES);
        // SAFETY: everything is made by the library and used as its headers say; sizes are those of the tensors.
        unsafe {
            let context = || {
                let bytes = (functions.tensor_overhead)() * (nodes + 2) + (functions.graph_overhead)();
                (functions.init)(Setup { bytes, buffer: null_mut(), no_alloc: true })
            };
            let contexts = [context(), context()];
            let w = (functions.tensor)(contexts[0], weights.kind as c_int, k as i64, n as i64);
            let x = (functions.tensor)(contexts[1], F32 as c_int, k as i64, m as i64);
            let graph = (functions.graph)(contexts[1]);
            let mut output = null_mut();
            for _ in 0..nodes {
                output = (functions.mul_mat)(contexts[1], w, x);
                (functions.expand)(graph, output);
            }
            let (backend, threads, nodes) = (ggml.backend, weights.threads, nodes as u32);
            let mut made =
                Self { functions, backend, graph, output, outputs: n * m, nodes, threads, contexts, buffers: vec![] };
            made.allocate(contexts[0], home)?;
            if !(made.functions.supports)(ggml.device, output) {
                return None;
            }
            made.allocate(contexts[1], *ggml.homes.last()?)?;
            (made.functions.set)(w, weights.bytes.as_ptr().cast(), 0, weights.bytes.len());
            (made.functions.set)(x, weights.inputs.as_ptr().cast(), 0, size_of_val(weights.inputs));
            Some(made)
        }
    }

    fn allocate(&mut self, context: Handle, home: Handle) -> Option<()> {
        // SAFETY: both were made by the library.
        let buffer = unsafe { (self.functions.allocate)(context, home) };
        (!buffer.is_null()).then(|| self.buffers.push(buffer))
    }

    fn compute(&self) {
        // SAFETY: the graph and its tensors live as long as this.
        unsafe {
            (self.functions.set_threads)(self.backend, self.threads as c_int);
            let failed = (self.functions.compute)(self.backend, self.graph);
            assert_eq!(failed, 0, "ggml cannot compute its graph");
        }
    }
}

impl Contender for Graph {
    fn column(&self) -> &'static str {
        "ggml"
    }

    fn turn(&mut self, calls: u32) -> Lap {
        Lap::of(calls.div_ceil(self.nodes), self.threads == 1, || self.compute()).divided_by(f64::from(self.nodes))
    }

    fn result(&mut self) -> Vec<f32> {
        self.compute();
        let mut result = vec![f32::NAN; self.outputs];
        // SAFETY: the tensor has that many elements.
        unsafe { (self.functions.get)(self.output, result.as_mut_ptr().cast(), 0, size_of_val(&result[..])) };
        result
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: made by the library, freed once.
        unsafe {
            self.buffers.iter().for_each(|&buffer| (self.functions.free_buffer)(buffer));
            self.contexts.iter().for_each(|&context| (self.functions.free)(context));
        }
    }
}
