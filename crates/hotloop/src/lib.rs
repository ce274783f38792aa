//! hotloop
