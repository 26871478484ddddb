/**
 * `tollgate completion bash|zsh|fish`: prints a script that asks the tool for the words that may follow.
 *
 * The tool answers from its declarations and never calls a service.
 */

import type { BuildCommand } from '../command-entry.ts'
import { addExamples, addSubcommandExamples, type Example } from '../help-text.ts'

const BASH = `# tollgate completion for bash: eval "$(tollgate completion bash)"
_tollgate() {
  local IFS=$'\\n'
  COMPREPLY=($(tollgate __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _tollgate tollgate
`
const ZSH = `#compdef tollgate
# tollgate completion for zsh: eval "$(tollgate completion zsh)"
_tollgate() {
  local -a candidates
  candidates=("\${(@f)$(tollgate __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${candidates[1]}" ]]; then compadd -- "\${candidates[@]}"; else _files; fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _tollgate tollgate
`
const FISH = `# tollgate completion for fish: tollgate completion fish | source
function __tollgate_complete
  set -l words (commandline -opc)
  tollgate __complete $words[2..] (commandline -ct) 2>/dev/null
end
complete -c tollgate -a '(__tollgate_complete)'
`
const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH }

export const buildCompletion: BuildCommand = (command, io) => {
  for (const [shell, script] of Object.entries(SCRIPTS)) {
    command
      .command(shell)
      .description(`Prints the script for ${shell}.`)
      .action(() => io.out.write(script))
  }
  const examples: readonly Example[] = [
    ['eval "$(tollgate completion bash)"', 'completes commands in this shell; put the line in ~/.bashrc to keep it'],
    ['tollgate completion fish > ~/.config/fish/completions/tollgate.fish', 'installs the completion for fish'],
  ]
  addExamples(command, examples)
  addSubcommandExamples(command, examples)
}
