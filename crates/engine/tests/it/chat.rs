//! Conversations to prompts, with templates written like those of known models.

use engine::{ChatTemplate, Message, Prompt, Tokenizer};

/// As ChatML is written, with a system message of its own.
const CHATML: &str = "{% for m in messages %}\n  {%- if loop.first and m['role'] != 'system' -%}\n    {{ '<|im_start|>system\\nBe kind.<|im_end|>\\n' }}\n  {%- endif -%}\n  \
    {{ '<|im_start|>' + m['role'] + '\\n' + m['content'] | trim + '<|im_end|>' + '\\n' }}\n{%- endfor -%}\n\
    {%- if add_generation_prompt -%}\n  {{ '<|im_start|>assistant\\n' }}\n{%- endif -%}\n";

/// As LLaMA 3 has it: headers, a macro, a namespace, a date where there is one.
const HEADERS: &str = "{{- bos_token }}
{%- macro header(role) %}{{ '<|start_header_id|>' ~ role ~ '<|end_header_id|>\\n\\n' }}{% endmacro %}
{%- set ns = namespace(system='', found=false) %}
{%- if messages[0].role == 'system' %}
    {%- set ns.system = messages[0].content.strip() %}
    {%- set ns.found = true %}
    {%- set messages = messages[1:] %}
{%- endif %}
{%- if strftime_now is defined %}{%- set date = strftime_now('%d %b %Y') %}{%- else %}{%- set date = '26 Jul 2024' %}{%- endif %}
{{- header('system') ~ 'Today: ' ~ date ~ '\\n' ~ ns.system ~ '<|eot_id|>' }}
{%- for message in messages %}
    {{- header(message.role) }}{{ message['content'] | trim }}{{ '<|eot_id|>' }}
{%- endfor %}
{%- if tools is not none and tools %}{{ tools | tojson }}{% endif %}
{%- if add_generation_prompt %}{{ header('assistant') }}{% endif %}";

/// As Mistral has it: turns must alternate.
const BRACKETS: &str = "{%- if messages and messages[0]['role'] == 'system' %}{% set system = messages[0]['content'] %}{% set turns = messages[1:] %}
{%- else %}{% set turns = messages %}{% endif %}
{{- bos_token -}}
{% for turn in turns %}
{%- if (turn['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate: user, assistant, user.') }}{% endif %}
{%- if turn['role'] == 'user' %}
{%- if loop.last and system is defined %}{{ '[INST] ' ~ system ~ '\\n\\n' ~ turn['content'] ~ ' [/INST]' }}
{%- else %}{{ '[INST] ' ~ turn['content'] ~ ' [/INST]' }}{% endif %}
{%- else %}{{ ' ' + turn['content'].strip() + eos_token }}{% endif %}
{%- endfor %}";

fn said(turns: &[(&str, &str)]) -> Vec<Message> {
    turns.iter().map(|(role, content)| Message { role: (*role).to_owned(), content: (*content).to_owned() }).collect()
}

fn render(source: &str, turns: &[(&str, &str)]) -> engine::Result<String> {
    let prompt = Prompt { add_generation_prompt: true, bos: "<s>", eos: "</s>" };
    ChatTemplate::new(source)?.render(&said(turns), prompt)
}

#[track_caller]
fn check(source: &str, turns: &[(&str, &str)], expected: &str) {
    assert_eq!(render(source, turns).expect("the template is right"), expected);
}

#[track_caller]
fn refused(source: &str, expected: &str) {
    let error = render(source, &[("user", "Hi")]).expect_err("the template is wrong").to_string();
    assert!(error.starts_with("chat template") && error.contains(expected), "{error}");
}

#[test]
fn chatml_is_written() {
    check(
        CHATML,
        &[("user", " Hi "), ("assistant", "Ho")],
        "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n\
         <|im_start|>assistant\nHo<|im_end|>\n<|im_start|>assistant\n",
    );
    check(CHATML, &[], "<|im_start|>assistant\n");
}

#[test]
fn headers_are_written() {
    check(
        HEADERS,
        &[("system", " Be kind. "), ("user", "Hi\n")],
        "<s><|start_header_id|>system<|end_header_id|>\n\nToday: 26 Jul 2024\nBe kind.<|eot_id|>\
         <|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
    );
}

#[test]
fn brackets_are_written_and_turns_alternate() {
    let turns = [("system", "Be kind."), ("user", "a"), ("assistant", " b "), ("user", "c")];
    check(BRACKETS, &turns, "<s>[INST] a [/INST] b</s>[INST] Be kind.\n\nc [/INST]");
    let error = render(BRACKETS, &[("assistant", "a")]).expect_err("they do not alternate").to_string();
    assert!(error.contains("rejected by the template: Roles must alternate"), "{error}");
}

#[test]
fn what_templates_use_is_there() {
    let turns = [("user", "Hello World")];
    for (source, expected) in [
        ("{{ messages[0].content.split(' ')[-1].lower() }}", "world"),
        ("{{ messages[0].content.startswith('Hello') and 'World' in messages[0].content }}", "True"),
        ("{{ messages | length }}{{ messages[0] | tojson }}", "1{\"role\": \"user\", \"content\": \"Hello World\"}"),
        ("{{ ['a', 'b'] | join(', ') }}{{ ', '.join(['a', 'b']) }}", "a, ba, b"),
        ("{{ 'aXbX' | replace('X', '-') }}{{ 'aXbX'.replace('X', '') }}", "a-b-ab"),
        ("{% for x in [1, 2, 3] %}{% if x == 2 %}{% continue %}{% endif %}{{ x }}{% endfor %}", "13"),
        ("{% set x = namespace(s='') %}{% for y in 'abc' %}{% set x.s = x.s + y %}{% endfor %}{{ x.s }}", "abc"),
        ("{{ (messages | selectattr('role', 'equalto', 'user') | list)[0].role }}", "user"),
        ("{{ unknown | default('none') }}{{ unknown }}", "none"),
        ("{% set x %}a{{ 1 + 2 }}{% endset %}{{ x ~ x }}", "a3a3"),
        ("{%- generation -%} a {%- endgeneration -%}", "a"),
        ("{{ messages[0].role if messages else 'b' ~ 'c' }}", "user"),
        ("{{ '<b>&' }}", "<b>&"),
    ] {
        check(source, &turns, expected);
    }
}

#[test]
fn wrong_templates_are_refused_with_the_line() {
    refused("a\n{% if %}", "line 2");
    refused("{{ messages | nothing }}", "nothing");
    refused("\n\n{{ messages.x.y }}", "line 3");
    refused("{{ strftime_now('%Y') }}", "it asks for the date");
    refused("{{ nothing() }}", "nothing is unknown");
    refused("{{ 'a' * 3 }}", "products");
    refused(&"x".repeat(70_000), "70000 bytes");
    refused("{% include 'other' %}", "other");
}

/// Each would hang, or fill the memory, without a bound.
#[test]
fn harmful_templates_come_to_an_end() {
    let steps = "too many steps";
    refused("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}", steps);
    refused("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "recursion");
    refused("{% include 'chat' %}", "recursion");
    let text = "too much text";
    for source in [
        "{% set n = namespace(x='aaaaaaaa') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
        "{% set n = namespace(x='aaaaaaaa') %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}",
        "{% set n = namespace(x='aaaa', y='b') %}{% for i in range(90) %}{% set n.x = n.x ~ n.y %}{% set n.y = n.y ~ n.x %}{% endfor %}",
        "{% set n = namespace(x='aaaa') %}{% for i in range(60) %}{% set n.x = n.x | replace('a', n.x) %}{% endfor %}",
        "{% set n = namespace(x='aaaa') %}{% for i in range(60) %}{% set n.x = n.x.replace('a', n.x) %}{% endfor %}",
        "{% set n = namespace(x='aaaa') %}{% for i in range(60) %}{% set n.x = [n.x, n.x] | join %}{% endfor %}",
        "{% set n = namespace(x='aaaa') %}{% for i in range(60) %}{% set n.x = n.x.join([n.x, n.x, n.x]) %}{% endfor %}",
        "{% set n = namespace(x='aaaa') %}{% for i in range(60) %}{% set y %}{{ n.x }}{{ n.x }}{% endset %}{% set n.x = y %}{% endfor %}",
        "{% macro f(x, n) %}{% if n %}{{ f(x ~ x ~ x ~ x ~ x ~ x ~ x ~ x, n - 1) }}{% endif %}{% endmacro %}{{ f('aaaa', 12) }}",
        "{% set n = namespace(x=['a']) %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}{{ n.x | join }}",
        "{% set n = namespace(x=['a']) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}",
        "{% set n = namespace(x=['a']) %}{% for i in range(60) %}{% set n.x = dict(a=n.x, b=n.x) %}{% endfor %}{{ n.x is eq n.x }}",
        "{% set n = namespace(x=['a']) %}{% for i in range(60) %}{% set n.x = dict(a=n.x, b=n.x) %}{% endfor %}{{ [1] | map('string') in n.x.a }}",
        "{% set n = namespace(x=['a']) %}{% for i in range(60) %}{% set n.x = dict(a=n.x, b=n.x) %}{% endfor %}{{ {n.x: 1} }}",
        "{% set n = namespace(x=['a']) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x | tojson }}",
        "{% set n = namespace(x=['a']) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x == n.x }}",
        "{% set __budget = 1 %}{{ 'a' ~ 'b' }}",
    ] {
        refused(source, text);
    }
    let long = format!("{{% for i in range(9999) %}}{}{{% endfor %}}", "x".repeat(60_000));
    refused(&long, text);
}

/// Each overflowed the stack, which ends the process, or took gigabytes.
#[test]
fn templates_cannot_exhaust_the_stack() {
    let in_namespace = "cannot be set to a";
    refused("{% set n=namespace() %}{% set n.a=n %}{{ n }}", in_namespace);
    refused("{% set n=namespace() %}{% set n.a=[{'x': n}][0:] %}{{ n }}", in_namespace);
    refused("{% set n=namespace() %}{% set n.a, b = n, 1 %}{{ n }}", in_namespace);
    refused("{% set n=namespace() %}{% set n.a | default(n, true) %}{% endset %}{{ n }}", in_namespace);
    refused("{% set n=namespace() %}{% for x in [1, n] %}{% set n.a = loop %}{% endfor %}{{ n }}", in_namespace);
    refused("{% macro m() %}{% endmacro %}{% set n=namespace() %}{% set n.a = m %}", in_namespace);
    let deep = "nested deeper than 64";
    refused("{% set n=namespace(a=1) %}{% for i in range(2000) %}{% set n.a=[n.a] %}{% endfor %}", deep);
    refused("{% set n=namespace(a=1) %}{% for i in range(2000) %}{% set n.a={'a': n.a} %}{% endfor %}", deep);
    refused(&format!("{}{{{{ x }}}}", "{% set x=[x] %}".repeat(4_000)), deep);
    refused(&format!("{{{{ {}1{} }}}}", "[".repeat(70), "]".repeat(70)), deep);
    let operators = "too many operators";
    for long in [
        format!("{{{{ {}1 }}}}", "-".repeat(50_000)),
        format!("{{{{ {}1 }}}}", "not ".repeat(15_000)),
        format!("{{{{ 1{} }}}}", "+1".repeat(30_000)),
        format!("{{{{ a{} }}}}", ".b".repeat(30_000)),
        format!("{{{{ a{} }}}}", "|e".repeat(30_000)),
        format!("{{{{ a{} }}}}", "[0]".repeat(20_000)),
        format!("{{{{ a{} }}}}", " if 0 else 1".repeat(5_000)),
        format!("{{% set x = {}1 %}}", "-".repeat(50_000)),
    ] {
        refused(&long, operators);
    }
    refused(&format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(5_000)), "branches");
}

/// What is cut from itself again and again is held once, not level by level.
#[test]
fn slices_of_slices_are_lists() {
    let source = "{% set n=namespace(a=[1, 2], b=[[0]]) %}{% for i in range(500) %}{% set n.a=n.a[0:] %}\
        {% set n.b=[n.b[0][0:]] %}{% endfor %}{{ n.a }} {{ n.b|tojson }}";
    check(source, &[], "[1, 2] [[0]]");
}

#[test]
fn json_is_indented_within_bounds() {
    check("{{ [1]|tojson(indent=2) }} {{ [1]|tojson(4) }}", &[], "[\n  1\n] [\n    1\n]");
    for wide in ["tojson(indent=1000000000)", "tojson(100000000)", "tojson(17)"] {
        refused(&format!("{{{{ messages|{wide} }}}}"), "indents by at most 16");
    }
    let wide = "{% set n=namespace(a=[1]) %}{% for i in range(12) %}{% set n.a=[n.a,n.a,n.a] %}{% endfor %}{{ n.a|tojson(16) }}";
    refused(wide, "too much text");
}

#[test]
fn long_conversations_are_not_refused() {
    let content = "word ".repeat(20_000);
    let turns: Vec<(&str, &str)> =
        (0..200).map(|turn| (if turn % 2 == 0 { "user" } else { "assistant" }, content.as_str())).collect();
    for source in [CHATML, HEADERS, BRACKETS] {
        let prompt = render(source, &turns).expect("it is a conversation");
        assert!(prompt.len() >= 200 * (content.len() - 1));
    }
}

#[test]
fn models_without_a_template_get_chatml() {
    let template = ChatTemplate::of(&Tokenizer::bytes(256)).expect("it is our own");
    assert!(template.is_fallback());
    let prompt = template.render(&said(&[("user", "Hi")]), Prompt { add_generation_prompt: true, ..Prompt::default() });
    assert_eq!(prompt.expect("it is right"), "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
    let prompt = template.render(&said(&[("user", "Hi")]), Prompt::default());
    assert_eq!(prompt.expect("it is right"), "<|im_start|>user\nHi<|im_end|>\n");
}
