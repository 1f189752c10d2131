// SPDX-License-Identifier: Apache-2.0
//! The C ABI declared by hand: `rustc run.rs -L PREFIX/lib && ./run '{"command": "echo hello"}'`.
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int};
use std::ptr;

#[repr(C)]
struct Session {
    _opaque: [u8; 0],
}
#[repr(C)]
struct Failure {
    _opaque: [u8; 0],
}

#[link(name = "sbx")]
extern "C" {
    fn sbx_open(options: *const c_char, session: *mut *mut Session, error: *mut *mut Failure) -> c_int;
    fn sbx_call(
        session: *mut Session,
        method: *const c_char,
        params: *const c_char,
        result: *mut *mut c_char,
        error: *mut *mut Failure,
    ) -> c_int;
    fn sbx_close(session: *mut Session);
    fn sbx_free(text: *mut c_char);
    fn sbx_error_code(error: *const Failure) -> *const c_char;
    fn sbx_error_message(error: *const Failure) -> *const c_char;
    fn sbx_error_free(error: *mut Failure);
}

/// Closed when it goes out of scope.
struct Open(*mut Session);

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: sbx_open gave it, and nothing uses it after this.
        unsafe { sbx_close(self.0) }
    }
}

fn take(error: *mut Failure) -> String {
    // SAFETY: the library stored an error of its own, whose parts live until it is freed.
    unsafe {
        let part = |text| CStr::from_ptr(text).to_string_lossy().into_owned();
        let words = format!("{}: {}", part(sbx_error_code(error)), part(sbx_error_message(error)));
        sbx_error_free(error);
        words
    }
}

fn call(params: &str) -> Result<String, String> {
    let params = CString::new(params).map_err(|error| error.to_string())?;
    let mut session = ptr::null_mut();
    let mut error = ptr::null_mut();
    let mut result = ptr::null_mut();
    // SAFETY: texts end with NUL, out-parameters are ours, the result is copied and freed.
    unsafe {
        if sbx_open(ptr::null(), &mut session, &mut error) != 0 {
            return Err(take(error));
        }
        let session = Open(session);
        if sbx_call(session.0, c_text(b"run\0"), params.as_ptr(), &mut result, &mut error) != 0 {
            return Err(take(error));
        }
        let text = CStr::from_ptr(result).to_string_lossy().into_owned();
        sbx_free(result);
        Ok(text)
    }
}

fn c_text(bytes: &'static [u8]) -> *const c_char {
    bytes.as_ptr().cast()
}

fn main() {
    match call(&std::env::args().nth(1).expect("params as JSON")) {
        Ok(result) => println!("{result}"),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}
