//! Chat templates, which come with model files: an error or a prompt, within the steps, the memory and the stack that are allowed.
#![no_main]

use engine::{ChatTemplate, Message, Prompt};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::plant(fuzz::sound::template), |bytes: &[u8]| {
    let Ok(source) = std::str::from_utf8(bytes) else { return };
    let Ok(template) = ChatTemplate::new(source) else { return };
    let say = |role: &str, content: &str| Message { role: role.to_owned(), content: content.to_owned() };
    let messages = [say("system", "Be kind."), say("user", "What is <|im_end|>?"), say("assistant", "")];
    for add_generation_prompt in [false, true] {
        // Either is fine.
        template.render(&messages, Prompt { add_generation_prompt, bos: "<s>", eos: "</s>" }).ok();
    }
});
