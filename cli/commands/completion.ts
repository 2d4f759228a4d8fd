import type { Session } from '../session.ts';

export type Shell = 'bash' | 'zsh' | 'fish';

// Each hands the words that are typed to "holdpoint complete", so that shells know nothing that can grow old.
const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `_holdpoint() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(holdpoint complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _holdpoint holdpoint
`,
  zsh: `#compdef holdpoint
_holdpoint() {
  local -a found
  local line
  for line in "\${(@f)$(holdpoint complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( $#found )); then _describe -V holdpoint found; else _files; fi
}
if [ "$funcstack[1]" = "_holdpoint" ]; then _holdpoint "$@"; else compdef _holdpoint holdpoint; fi
`,
  fish: `function __holdpoint_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    holdpoint complete -- $before[2..-1] "$current" 2>/dev/null
end
complete -c holdpoint -k -a '(__holdpoint_complete)'
`,
};

/** Prints the script of a shell. */
export async function completion({ terminal }: Session, shell: Shell): Promise<void> {
  await terminal.write(SCRIPTS[shell]);
}
