import { spawnSync, type ChildProcess } from 'node:child_process';

const isWindows = process.platform === 'win32';

/**
 * Asks a process to end. Windows has no signals, so there it kills the process and all processes
 * that it started.
 */
export function stopProcess(child: ChildProcess): void {
  if (isWindows) killTree(child);
  else child.kill('SIGTERM');
}

/**
 * Kills a process and the processes that it started. Outside of Windows the process must be the
 * first of its process group.
 */
export function killTree({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  if (isWindows) {
    spawnSync('taskkill', ['/pid', String(pid), '/t', '/f']);
    return;
  }
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The process has just ended.
  }
}
