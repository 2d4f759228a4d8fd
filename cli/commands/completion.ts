import type { Session } from '../session.ts';

export type Shell = 'bash' | 'zsh' | 'fish';

// Each script passes the typed words to "waitstate complete", so it never gets out of date.
const SCRIPTS: Readonly<Record<Shell, string>> = {
  // Words are quoted for bash and never expanded: an id may be $(anything).
  bash: `_waitstate() {
  local line word
  COMPREPLY=()
  while IFS= read -r line; do
    printf -v word %q "\${line%%$'\\t'*}"
    COMPREPLY+=("$word")
  done < <(waitstate complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _waitstate waitstate
`,
  zsh: `#compdef waitstate
_waitstate() {
  local -a found
  local line
  for line in "\${(@f)$(waitstate complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( $#found )); then _describe -V waitstate found; else _files; fi
}
if [ "$funcstack[1]" = "_waitstate" ]; then _waitstate "$@"; else compdef _waitstate waitstate; fi
`,
  fish: `function __waitstate_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    waitstate complete -- $before[2..-1] "$current" 2>/dev/null
end
complete -c waitstate -k -a '(__waitstate_complete)'
`,
};

/** Prints the completion script of a shell. */
export async function completion({ terminal }: Session, shell: Shell): Promise<void> {
  await terminal.write(SCRIPTS[shell]);
}
