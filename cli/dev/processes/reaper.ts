import { spawn } from 'node:child_process';

/** Ends groups of processes when this process ends, however it ends. */
export interface Reaper {
  add(pid: number): void;
  remove(pid: number): void;
  /** Ends those that are left. */
  close(): void;
}

// Until its input ends, that is, until the server is gone: "+ pid" and "- pid". Then it kills what is left.
const SCRIPT = `
  all=' '
  while read -r sign pid; do
    case $sign in
      +) all="$all$pid " ;;
      -) case $all in *" $pid "*) all="\${all%% $pid *} \${all#* $pid }" ;; esac ;;
    esac
  done
  for pid in $all; do kill -s KILL -- "-$pid"; done
`;

/**
 * A small shell that waits for the end of this process. A process that is killed tells nobody, and one of its children
 * that is busy for ever would not hear it; nor would what that child has started.
 */
export function startReaper(): Reaper {
  // Windows has neither the shell nor groups of processes.
  if (process.platform === 'win32') return { add: () => {}, remove: () => {}, close: () => {} };
  // In a session of its own: what is sent to the group of the server must not reach it.
  const shell = spawn('/bin/sh', ['-c', SCRIPT, 'waitstate dev'], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  // Without it, processes still end with the server unless they are busy.
  shell.on('error', () => {});
  shell.stdin.on('error', () => {});
  shell.unref();
  const send = (sign: '+' | '-', pid: number) => void shell.stdin.write(`${sign} ${pid}\n`);
  return { add: (pid) => send('+', pid), remove: (pid) => send('-', pid), close: () => void shell.stdin.end() };
}
