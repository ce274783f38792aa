use std::future::{Future, ready};

fn spawn(_task: impl Future + Send + 'static) {}

async fn without_attribute() {
    let _guard = hotloop::guard!("held");
    ready(()).await;
}

fn spawn_block() {
    spawn(async { //~ ERROR future cannot be sent between threads safely
        hotloop::scope!("held");
        ready(()).await;
    });
}

fn spawn_function() {
    spawn(without_attribute()); //~ ERROR future cannot be sent between threads safely
}

fn move_to_thread() {
    let guard = hotloop::guard!("moved");
    std::thread::spawn(move || drop(guard)); //~ ERROR `*const hotloop::scope::ThreadThatOpenedIt` cannot be sent between threads safely
}

fn main() {
    spawn_block();
    spawn_function();
    move_to_thread();
}
