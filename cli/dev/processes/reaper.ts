import { spawn } from 'node:child_process';

/** Kills process groups when this process ends, however it ends. */
export interface Reaper {
  add(pid: number): void;
  remove(pid: number): void;
  /** Kills the groups that are left. */
  close(): void;
}

// Reads "+ pid" and "- pid" until its input ends, which is when the server is gone. Then it kills the rest.
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
 * Starts a small shell that waits for the end of this process. A killed server cannot stop its children, and a child in an
 * endless loop does not notice the disconnect; nor do processes that the child has started.
 */
export function startReaper(): Reaper {
  // Windows has neither this shell nor process groups.
  if (process.platform === 'win32') return { add: () => {}, remove: () => {}, close: () => {} };
  // In a new session: signals to the server's process group must not reach it.
  const shell = spawn('/bin/sh', ['-c', SCRIPT, 'waitstate dev'], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  // Without the shell, processes still end with the server, unless they are busy.
  shell.on('error', () => {});
  shell.stdin.on('error', () => {});
  shell.unref();
  const send = (sign: '+' | '-', pid: number) => void shell.stdin.write(`${sign} ${pid}\n`);
  return { add: (pid) => send('+', pid), remove: (pid) => send('-', pid), close: () => void shell.stdin.end() };
}
