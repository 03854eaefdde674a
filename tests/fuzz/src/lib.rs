//! What the fuzz targets share: how bytes become JSON, a store to start from, and a client of the server in this process.
//!
//! | module | what it holds |
//! |---|---|
//! | [`bytes`] | choices, one after the other, out of an input's bytes |
//! | [`json`] | JSON text made by such choices: valid, and odd in every way that JSON allows |
//! | [`export`] | the export that everything starts from, changed by such choices and hashed anew |
//! | [`place`] | a folder of this process, the store made of the export, and what must hold of a store |
//! | [`client`] | a client on the server's lines, with the server in this process |

pub mod bytes;
pub mod client;
pub mod export;
pub mod json;
pub mod place;
