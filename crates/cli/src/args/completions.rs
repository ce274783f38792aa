//! The arguments of `hotloop completions` and `hotloop man`.

use clap::Args;
use clap_complete::Shell;

/// Print a completion script for a shell
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "\
Examples:
  hotloop completions bash > ~/.local/share/bash-completion/completions/hotloop
  hotloop completions zsh > ~/.zfunc/_hotloop
  hotloop completions fish > ~/.config/fish/completions/hotloop.fish")]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: Shell,
}

/// Print the manual page of hotloop or of a command
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "\
Examples:
  hotloop man | man -l -
  hotloop man profile > ~/.local/share/man/man1/hotloop-profile.1")]
pub struct Man {
    /// The command [default: all of hotloop]
    #[arg(value_name = "COMMAND")]
    pub command: Option<String>,
}
