//! llama.cpp's CPU backend.

use std::ffi::{CString, c_char, c_void};
use std::path::Path;
use std::ptr::{self, NonNull};

use llama_cpp_sys_2 as sys;

/// Errors of llama.cpp, which writes the reasons to the standard error stream.
pub type Result<T> = std::result::Result<T, String>;

pub struct Model(NonNull<sys::llama_model>);

pub struct Context<'a> {
    context: NonNull<sys::llama_context>,
    batch: sys::llama_batch,
    capacity: usize,
    position: usize,
    vocabulary: usize,
    _model: &'a Model,
}

/// How many tokens' logits a pass gives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Outputs {
    All,
    Last,
}

unsafe extern "C" fn log(level: sys::ggml_log_level, text: *const c_char, _: *mut c_void) {
    if level == sys::GGML_LOG_LEVEL_ERROR {
        // SAFETY: llama.cpp gives a string.
        let text = unsafe { std::ffi::CStr::from_ptr(text) };
        eprint!("llama.cpp: {}", text.to_string_lossy());
    }
}

impl Model {
    pub fn load(path: &Path) -> Result<Self> {
        let name = CString::new(path.to_string_lossy().as_bytes()).map_err(|e| e.to_string())?;
        // SAFETY: the function may be called from any thread, and lives as long as the program. Without devices all is the CPU's.
        // The list of devices and the path live as long as the call.
        let model = unsafe {
            sys::llama_log_set(Some(log), ptr::null_mut());
            let mut none: sys::ggml_backend_dev_t = ptr::null_mut();
            let mut parameters = sys::llama_model_default_params();
            parameters.devices = &mut none;
            parameters.n_gpu_layers = 0;
            sys::llama_model_load_from_file(name.as_ptr(), parameters)
        };
        let model = NonNull::new(model);
        model
            .map(Self)
            .ok_or_else(|| format!("llama.cpp does not load {}", path.display()))
    }

    /// A context with room for so many tokens, with a cache of F32 and exact attention.
    pub fn context(&self, tokens: usize, threads: usize) -> Result<Context<'_>> {
        // SAFETY: the model outlives the context, and the batch has room for as many tokens as the context has.
        unsafe {
            let mut parameters = sys::llama_context_default_params();
            parameters.n_ctx = tokens as u32;
            parameters.n_batch = tokens as u32;
            parameters.n_ubatch = tokens as u32;
            parameters.n_threads = threads as i32;
            parameters.n_threads_batch = threads as i32;
            parameters.flash_attn_type = sys::LLAMA_FLASH_ATTN_TYPE_DISABLED;
            parameters.type_k = sys::GGML_TYPE_F32;
            parameters.type_v = sys::GGML_TYPE_F32;
            let context = sys::llama_init_from_model(self.0.as_ptr(), parameters);
            let vocabulary = sys::llama_vocab_n_tokens(sys::llama_model_get_vocab(self.0.as_ptr()));
            Ok(Context {
                context: NonNull::new(context).ok_or("llama.cpp makes no context")?,
                batch: sys::llama_batch_init(tokens as i32, 0, 1),
                capacity: tokens,
                position: 0,
                vocabulary: vocabulary as usize,
                _model: self,
            })
        }
    }
}

impl Context<'_> {
    /// Computes tokens in one pass, and gives their logits or those of the last one.
    pub fn feed(&mut self, tokens: &[u32], outputs: Outputs) -> Result<Vec<f32>> {
        assert!(tokens.len() <= self.capacity && !tokens.is_empty());
        let wants = |index: usize| outputs == Outputs::All || index + 1 == tokens.len();
        self.batch.n_tokens = tokens.len() as i32;
        for (index, &token) in tokens.iter().enumerate() {
            // SAFETY: the batch has room for `capacity` tokens, of one text each.
            unsafe {
                *self.batch.token.add(index) = token as i32;
                *self.batch.pos.add(index) = (self.position + index) as i32;
                *self.batch.n_seq_id.add(index) = 1;
                **self.batch.seq_id.add(index) = 0;
                *self.batch.logits.add(index) = i8::from(wants(index));
            }
        }
        // SAFETY: the batch is filled.
        let status = unsafe { sys::llama_decode(self.context.as_ptr(), self.batch) };
        if status != 0 {
            return Err(format!("llama.cpp's pass ends with status {status}"));
        }
        self.position += tokens.len();
        let mut logits = Vec::new();
        for index in (0..tokens.len()).filter(|&index| wants(index)) {
            // SAFETY: the pass gave logits for this token, a row of the vocabulary.
            unsafe {
                let row = sys::llama_get_logits_ith(self.context.as_ptr(), index as i32);
                logits.extend_from_slice(std::slice::from_raw_parts(row, self.vocabulary));
            }
        }
        Ok(logits)
    }

    /// Forgets all tokens.
    pub fn clear(&mut self) {
        // SAFETY: the context lives.
        unsafe { sys::llama_memory_clear(sys::llama_get_memory(self.context.as_ptr()), true) };
        self.position = 0;
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        // SAFETY: both are this value's own.
        unsafe {
            sys::llama_batch_free(self.batch);
            sys::llama_free(self.context.as_ptr());
        }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: contexts borrow the model, so none is left.
        unsafe { sys::llama_model_free(self.0.as_ptr()) };
    }
}

/// Rows of `columns` floats in a format of llama.cpp's, by its number, without an importance matrix.
pub fn quantize(format: u32, columns: usize, values: &[f32]) -> Vec<u8> {
    assert_eq!(values.len() % columns, 0);
    let rows = values.len() / columns;
    // SAFETY: the rows are whole, and the result has the bytes that llama.cpp says it takes.
    unsafe {
        let size = sys::ggml_row_size(format, columns as i64);
        let mut bytes = vec![0u8; size * rows];
        let (from, to) = (values.as_ptr(), bytes.as_mut_ptr().cast());
        let (rows, columns) = (rows as i64, columns as i64);
        let written = sys::ggml_quantize_chunk(format, from, to, 0, rows, columns, ptr::null());
        assert_eq!(written, bytes.len());
        bytes
    }
}
