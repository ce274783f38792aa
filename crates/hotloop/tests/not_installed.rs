//! Without `hotloop::Allocator`, assertions about allocations fail instead of passing for nothing.
#![cfg(feature = "enabled")]

use std::panic::catch_unwind;

#[test]
fn assertions_refuse_what_they_cannot_check() {
    std::panic::set_hook(Box::new(|_| ()));
    let panic = catch_unwind(|| hotloop::assert_no_alloc!(1 + 1)).expect_err("must not pass");
    let text = panic.downcast_ref::<String>().expect("a formatted message");
    assert!(text.contains("hotloop::Allocator is not the global allocator"), "{text}");

    hotloop::start();
    {
        hotloop::scope!("decode");
    }
    assert!(catch_unwind(|| hotloop::assert_allocs!("decode" <= 5)).is_err());
    assert!(!hotloop::snapshot().allocations_counted);
}
