use std::future::{Future, ready};
use std::pin::Pin;

use hotloop::{guard, profile, scope};

#[profile]
async fn same_block() {
    hotloop::scope!("step"); //~ ERROR a scope cannot be held across .await
    ready(()).await;
}

#[profile]
async fn imported_macro() {
    scope!("step"); //~ ERROR a scope cannot be held across .await
    ready(()).await;
}

#[profile]
async fn nested_block() {
    hotloop::function!(); //~ ERROR a scope cannot be held across .await
    for step in 0..3 {
        if step > 1 {
            ready(()).await;
        }
    }
}

#[profile("name")]
async fn kept_guard() -> u64 {
    let mut work = guard!("work"); //~ ERROR a scope cannot be held across .await
    work.add_flops(2);
    Some(ready(3).await).unwrap()
}

#[profile]
async fn nested_async_block() {
    let task = async {
        scope!("task"); //~ ERROR a scope cannot be held across .await
        ready(()).await;
    };
    task.await;
}

#[profile]
fn boxed() -> Pin<Box<dyn Future<Output = ()>>> {
    Box::pin(async move {
        scope!("boxed"); //~ ERROR a scope cannot be held across .await
        ready(()).await;
    })
}

#[profile]
async fn allowed() {
    {
        scope!("before");
    }
    ready(()).await;
    let work = guard!("dropped before");
    drop(work);
    ready(()).await;
    guard!("a temporary").add_flops(2);
    ready(()).await;
    scope!("after");
    drop(async { ready(()).await });
    drop(async |x: u8| ready(x).await);
    async fn inner() {
        ready(()).await;
    }
    drop(inner());
}

fn main() {
    drop((same_block(), imported_macro(), nested_block(), kept_guard()));
    drop((nested_async_block(), boxed(), allowed()));
}
