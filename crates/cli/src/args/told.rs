//! The arguments of `hotloop completions` and `hotloop man`.

use clap::Args;
use clap_complete::Shell;

/// For which shell.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    about = "Print what completes commands and options in a shell",
    after_help = "Examples:\n  \
        hotloop completions bash > ~/.local/share/bash-completion/completions/hotloop\n  \
        hotloop completions zsh > ~/.zfunc/_hotloop\n  \
        hotloop completions fish > ~/.config/fish/completions/hotloop.fish"
)]
pub struct Completions {
    /// The shell.
    #[arg(
        value_name = "SHELL",
        value_enum,
        hide_possible_values = true,
        help = "bash, zsh, fish, powershell or elvish"
    )]
    pub shell: Shell,
}

/// Of what.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    about = "Print the manual page of hotloop, or of one of its commands",
    after_help = "Examples:\n  \
        hotloop man | man -l -\n  \
        hotloop man profile > ~/.local/share/man/man1/hotloop-profile.1"
)]
pub struct Man {
    /// The command.
    #[arg(value_name = "COMMAND", help = "the command (default: all of hotloop)")]
    pub command: Option<String>,
}
